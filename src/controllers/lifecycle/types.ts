import type { ReleaseFeed } from '../../adapters/releases/port.ts'
import type { ComponentInstall, PlatformComponent } from '../../crds/lifecycle.ts'
import type { Pass } from '../engine/controller.ts'

/** Ports and settings of the area's controllers. */
export type LifecycleOptions = {
  readonly feed: ReleaseFeed
  /** Milliseconds between two reads of the feed; undefined: only on request. */
  readonly feedInterval: number | undefined
  /** Milliseconds for which workloads must be ready before their component counts as healthy. */
  readonly healthSettle: number
  /** Version of this program, which is a component too. */
  readonly ownVersion: string
}

export type ComponentPass = Pass<typeof PlatformComponent>
export type InstallPass = Pass<typeof ComponentInstall>
