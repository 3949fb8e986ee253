import type { ReleaseFeed } from '../../adapters/releases/port.ts'

/** What the controllers of the area work with, beside the cluster. */
export type LifecycleOptions = {
  readonly feed: ReleaseFeed
  /** Milliseconds between two reads of it; undefined: only when somebody asks. */
  readonly feedInterval: number | undefined
}
