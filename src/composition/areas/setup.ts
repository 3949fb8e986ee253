import type { CallsHere } from '../../adapters/calls/sameProcess.ts'
import type { Configuration } from '../../config.ts'
import type { Log } from '../../core/log.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Exec } from '../../kube/exec.ts'
import type { AgentHub } from '../agents/hub.ts'

/** What an area opens its adapters with, in the facade and in the controllers alike. */
export type AreaSetup = {
  configuration: Configuration
  client: KubeClient
  /** The way to other clusters. */
  agents: Pick<AgentHub, 'clientOf' | 'forward' | 'execOf'>
  log: Log
  /** Closes later what was opened now, the last first. */
  onStop(close: () => unknown): void
}

/** The activator of this process, as soon as it works. */
export type ActivatorHere = { calls: CallsHere | undefined }

export type FacadeSetup = AreaSetup & {
  caches: CacheSet
  exec: Exec
  /** Where people find the facade, without a slash at the end. */
  linkBase: string
  activatorHere: ActivatorHere
}

/** Closes what the parts of a process opened, the last first. */
export class Closing {
  readonly #closes: (() => unknown)[] = []

  readonly onStop = (close: () => unknown): void => void this.#closes.push(close)

  async stop(): Promise<void> {
    for (const close of this.#closes.toReversed()) await close()
  }
}
