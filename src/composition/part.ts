import type { Registry } from 'prom-client'
import type { ReadinessCheck } from '../api/http/management.ts'
import type { Log } from '../core/log.ts'

/** What every part of the process is given. */
export type Surroundings = {
  log: Log
  registry: Registry
  /** Ends the whole process with a failure: a part cannot go on, and another replica should. */
  fail(why: string): void
}

/** A running part of the process, stopped in the reverse order of its start. */
export type Part = {
  name: string
  checks: readonly ReadinessCheck[]
  stop(): Promise<void>
}
