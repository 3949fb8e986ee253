import { AsyncLocalStorage } from 'node:async_hooks'
import type { KubeObject, Resource } from './object.ts'

/** The request of a caller for which the current work is done. */
export type Origin = {
  /** Whose request it is: one caller's calls wait for one another before those of others wait for them. */
  readonly caller: string
  /** Goes to the API server with every write, whose audit log then tells for whom it was. Absent from reads, as is the rest. */
  readonly auditId?: string
  /** An object of ours was written, and looks like this now. */
  written?(resource: Resource, object: KubeObject): void
  /** It is as was asked for already. */
  unchanged?(): void
}

const origins = new AsyncLocalStorage<Origin | undefined>()

/** @param origin undefined where nobody is known */
export function onBehalfOf<Result>(origin: Origin | undefined, work: () => Result): Result {
  return origins.run(origin, work)
}

/** Undefined for the platform's own work. */
export function currentOrigin(): Origin | undefined {
  return origins.getStore()
}
