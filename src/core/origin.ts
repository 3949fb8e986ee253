import { AsyncLocalStorage } from 'node:async_hooks'
import type { KubeObject, Resource } from './object.ts'

/** The caller's request on whose behalf the current work runs. */
export type Origin = {
  /** Identifies the caller: its calls queue behind one another before they delay those of others. */
  readonly caller: string
  /** Sent to the API server with every write, for its audit log. Absent for reads, as is the rest. */
  readonly auditId?: string
  /** Called after an object of ours was written, with its new state. */
  written?(resource: Resource, object: KubeObject): void
  /** Called if the object already is as requested. */
  unchanged?(): void
}

const origins = new AsyncLocalStorage<Origin | undefined>()

/** @param origin undefined if the caller is unknown */
export function onBehalfOf<Result>(origin: Origin | undefined, work: () => Result): Result {
  return origins.run(origin, work)
}

/** Returns the origin of the current work; undefined for the platform's own work. */
export function currentOrigin(): Origin | undefined {
  return origins.getStore()
}
