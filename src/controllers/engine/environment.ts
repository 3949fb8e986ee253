import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Workspace } from './controller.ts'
import type { EngineMetrics } from './metrics.ts'
import type { OtherClusters } from './pass.ts'

/** Records events. Never throws and never waits: a lost event costs nothing. */
export type EventSink = {
  emit(about: KubeObject, event: { type: 'Normal' | 'Warning'; reason: string; note: string }): void
}

/** What every controller of a process shares. */
export type Environment = {
  records: Workspace
  workloads: Workspace
  /** Clusters besides the platform's own; defaults to none. */
  others?: OtherClusters
  clock: Clock
  log: Log
  events: EventSink
  metrics: EngineMetrics
  /** Generates incarnations. */
  newId: () => string
  /** Between 0 and 1, for jitter. */
  random: () => number
  /** Maximum number of keys that a controller works on concurrently. */
  workers: number
}
