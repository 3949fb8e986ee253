import { noKeys, openKeyFile } from '../adapters/platformkeys/file.ts'
import type { PlatformKeys } from '../adapters/platformkeys/port.ts'
import { createQdrantClient } from '../adapters/qdrant/client.ts'
import { playedEngine } from '../adapters/qdrant/played.ts'
import type { QdrantPort } from '../adapters/qdrant/port.ts'
import { directReach, proxyReach } from '../adapters/qdrant/reach.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { KubeClient } from '../kube/client.ts'

/** How vector databases are spoken to: played where pods are played, else by DNS or through the API server. */
export function vectorEngine(
  configuration: Pick<Configuration, 'engines' | 'engineAccess'>,
  client: KubeClient,
): QdrantPort {
  if (configuration.engines === 'simulated') return playedEngine()
  return createQdrantClient(configuration.engineAccess === 'service' ? directReach() : proxyReach(client))
}

/** The platform keys of secret vaults; none where none are configured. Stop them. */
export async function platformKeys({ vaultKeysFile }: Configuration, log: Log): Promise<PlatformKeys> {
  return vaultKeysFile === undefined ? noKeys() : openKeyFile(vaultKeysFile, { clock: systemClock, log })
}
