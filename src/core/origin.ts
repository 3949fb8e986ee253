import { AsyncLocalStorage } from 'node:async_hooks'
import type { KubeObject, Resource } from './object.ts'

/** The request of a caller for which the current work is done. */
export type Origin = {
  /** Goes to the API server with every write, whose audit log then tells for whom it was. */
  readonly auditId: string
  /** An object of ours was written, and looks like this now. */
  written(resource: Resource, object: KubeObject): void
  /** It is as was asked for already. */
  unchanged(): void
}

const origins = new AsyncLocalStorage<Origin>()

export function onBehalfOf<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work)
}

/** Undefined for the platform's own work. */
export function currentOrigin(): Origin | undefined {
  return origins.getStore()
}
