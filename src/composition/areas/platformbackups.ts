import { createBackupTargets } from '../../adapters/backuptarget/client.ts'
import { createWalMetrics } from '../../adapters/prometheus/walMetrics.ts'
import type { Services } from '../../api/http/context.ts'
import { createBackupCluster } from '../../api/platformbackups/cluster.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { secret } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { FacadeSetup } from './setup.ts'

/** Creates the services for the platform's own backups. */
export function platformBackupServices({ client, configuration, log }: FacadeSetup): Pick<Services, 'platformBackups'> {
  const { prometheusUrl: url, backupNamespace } = configuration
  return {
    platformBackups: {
      cluster: createBackupCluster(client, backupNamespace),
      targets: createBackupTargets(),
      logs: url === undefined ? { all: async () => new Map() } : createWalMetrics({ url, log }),
      secrets: {
        ...kubeSecrets(client),
        ...kubeSecretWriter(client),
        async remove(ref) {
          await client.remove(secret, ref).catch((error: unknown) => {
            if (!isKubeError(error, 'NotFound')) throw error
          })
        },
      },
    },
  }
}

export function platformBackupPorts(): Pick<ControllerPorts, 'backupTargets'> {
  return { backupTargets: createBackupTargets() }
}
