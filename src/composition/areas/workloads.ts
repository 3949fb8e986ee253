import { createRequestFigures } from '../../adapters/prometheus/client.ts'
import type { Services } from '../../api/http/context.ts'
import { createBackups } from '../../api/resources/backups.ts'
import { createLiveState } from '../../api/resources/liveState.ts'
import { createStorage } from '../../api/resources/storage.ts'
import type { FacadeSetup } from './setup.ts'

/** What is seen of workloads beside their objects. */
export function workloadServices({
  client,
  caches,
  agents,
  configuration,
  log,
}: FacadeSetup): Pick<Services, 'storage' | 'live' | 'backups' | 'requestFigures'> {
  const { prometheusUrl: url, backupNamespace } = configuration
  const clientOf = (clusterId: string) => agents.clientOf(clusterId)
  return {
    storage: createStorage(caches),
    live: createLiveState({ client, caches, clientOf }),
    backups: createBackups(caches, backupNamespace, clientOf),
    requestFigures: url === undefined ? { of: async () => undefined } : createRequestFigures({ url, log }),
  }
}
