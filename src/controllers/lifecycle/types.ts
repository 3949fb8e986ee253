import type { ReleaseFeed } from '../../adapters/releases/port.ts'
import type { ComponentInstall, PlatformComponent } from '../../crds/lifecycle.ts'
import type { Pass } from '../engine/controller.ts'

/** What the controllers of the area work with, beside the cluster. */
export type LifecycleOptions = {
  readonly feed: ReleaseFeed
  /** Milliseconds between two reads of it; undefined: only when somebody asks. */
  readonly feedInterval: number | undefined
  /** Milliseconds that workloads must have been ready for, before their component counts as healthy. */
  readonly healthSettle: number
  /** Version of this program, which is a component too. */
  readonly ownVersion: string
}

export type ComponentPass = Pass<typeof PlatformComponent>
export type InstallPass = Pass<typeof ComponentInstall>
