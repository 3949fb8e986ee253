import type { LocalActivator } from '../../adapters/calls/localActivator.ts'
import type { Configuration } from '../../config.ts'
import type { Log } from '../../core/log.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Exec } from '../../kube/exec.ts'
import type { AgentHub } from '../agents/hub.ts'

/** What areas need to open their adapters, in the facade and in the controllers. */
export type AreaSetup = {
  configuration: Configuration
  client: KubeClient
  /** Access to other clusters. */
  agents: Pick<AgentHub, 'clientOf' | 'forward' | 'execOf'>
  log: Log
  /** Registers a function to run at shutdown, in reverse order. */
  onStop(close: () => unknown): void
}

/** The activator of this process, once it runs. */
export type LocalActivatorRef = { calls: LocalActivator | undefined }

export type FacadeSetup = AreaSetup & {
  caches: CacheSet
  exec: Exec
  /** Public base URL of the facade, without trailing slash. */
  linkBase: string
  activatorHere: LocalActivatorRef
}

/** Collects functions to run at shutdown, in reverse order. */
export class ShutdownHooks {
  readonly #closes: (() => unknown)[] = []

  readonly onStop = (close: () => unknown): void => void this.#closes.push(close)

  async stop(): Promise<void> {
    for (const close of this.#closes.toReversed()) await close()
  }
}
