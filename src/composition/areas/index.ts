import { createDns } from '../../adapters/dns/client.ts'
import { kubeSecrets } from '../../api/records/secrets.ts'
import type { TokenEndpoint } from '../../contracts/managedIdentities.ts'
import { parseNetworkSetting } from '../../contracts/networks.ts'
import { BROKERED_PROTOCOLS } from '../../contracts/ssoProviders.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { openOutgoing } from '../outgoing.ts'
import { activityServices } from './activity.ts'
import { blueprintServices } from './blueprints.ts'
import { buildParts, buildPods } from './builds.ts'
import { crosslinkPorts, crosslinkServices } from './crosslink.ts'
import { databasePorts, databaseServices } from './databases.ts'
import { functionServices } from './functions.ts'
import { jobParts } from './jobs.ts'
import { lifecyclePorts, lifecycleServices } from './lifecycle.ts'
import { monitoringServices } from './monitoring.ts'
import { networkServices } from './network.ts'
import { storagePorts, storageServices } from './objectstorage.ts'
import { recordOfPairs } from './pairs.ts'
import { platformBackupPorts, platformBackupServices } from './platformbackups.ts'
import { podLogServices } from './podlogs.ts'
import { registryPorts, registryServices, type SignInParts } from './registry.ts'
import { rolloutPorts, rolloutServices } from './rollouts.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'
import { sourcePorts, sourceServices } from './sources.ts'
import { vaultPorts, vaultServices } from './vaults.ts'
import { vectorPorts, vectorServices } from './vector.ts'
import { volumeFileServices } from './volumefiles.ts'
import { workloadServices } from './workloads.ts'

/** Creates the services that routes of all areas use. */
export async function areaServices(setup: FacadeSetup & SignInParts) {
  const { registry, archives } = await registryServices(setup, setup)
  return {
    ...activityServices(setup),
    ...crosslinkServices(setup),
    ...vectorServices(setup),
    ...databaseServices(setup),
    ...functionServices(setup),
    ...jobParts(setup),
    ...networkServices(setup),
    ...podLogServices(setup),
    ...volumeFileServices(setup),
    ...workloadServices(setup),
    ...sourceServices(setup),
    ...monitoringServices(setup),
    ...blueprintServices(setup),
    ...lifecycleServices(setup),
    ...platformBackupServices(setup),
    ...rolloutServices(setup),
    ...(await vaultServices(setup)),
    ...(await storageServices(setup)),
    registry,
    deployments: { ...buildParts(setup).deployments, archives, podOf: buildPods(setup) },
    managedIdentities: {
      secrets: kubeSecrets(setup.client),
      signIn: signInOf(setup),
    },
  }
}

function signInOf({ configuration: { issuer, audience, realm } }: AreaSetup): TokenEndpoint {
  return { tokenUrl: `${issuer}/protocol/openid-connect/token`, audience, realm }
}

/** Creates the ports that controllers of all areas use. */
export async function areaPorts(setup: AreaSetup): Promise<ControllerPorts> {
  const { allowOwnImages, projectRbac, closedNetworks, apiServerNetworks, podDiskLimit, podDiskRequest } =
    setup.configuration
  const { namespaceLabels, namespaceAnnotations } = setup.configuration
  const outgoing = openOutgoing(setup.configuration)
  setup.onStop(() => outgoing.close())
  const { registry, archives } = await registryPorts(setup)
  return {
    ...vectorPorts(setup),
    ...databasePorts(setup),
    ...jobParts(setup),
    builds: { ...buildParts(setup).builds, archives },
    ...sourcePorts(setup),
    ...crosslinkPorts(),
    ...lifecyclePorts(setup),
    ...platformBackupPorts(),
    ...rolloutPorts(setup),
    ...(await vaultPorts(setup)),
    ...(await storagePorts(setup)),
    registry,
    allowOwnImages,
    signIn: signInOf(setup),
    backupNamespace: setup.configuration.backupNamespace,
    projectRbac,
    closedNetworks,
    namespaceMetadata: { labels: recordOfPairs(namespaceLabels), annotations: recordOfPairs(namespaceAnnotations) },
    disk: { limit: podDiskLimit, request: podDiskRequest },
    apiServer: apiServerNetworks.map(parseNetworkSetting),
    sso: { dns: createDns(), outgoing, protocols: BROKERED_PROTOCOLS[setup.configuration.identityProvider] },
  }
}
