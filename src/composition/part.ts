import type { Registry } from 'prom-client'
import type { ReadinessCheck } from '../api/http/management.ts'
import type { Log } from '../core/log.ts'

/** Dependencies of every part. */
export type PartDependencies = {
  log: Log
  registry: Registry
  /** Ends the process with a failure, so that another replica takes over. */
  fail(why: string): void
}

/** A running part of the process. Parts are stopped in reverse order. */
export type Part = {
  name: string
  checks: readonly ReadinessCheck[]
  stop(): Promise<void>
}
