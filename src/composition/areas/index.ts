import { createBackupTargets } from '../../adapters/backuptarget/client.ts'
import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { createActivatorClient } from '../../adapters/calls/client.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import { createDns } from '../../adapters/dns/client.ts'
import { noFlows } from '../../adapters/flows/client.ts'
import { noKeys, openKeyFile } from '../../adapters/platformkeys/file.ts'
import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { createRequestFigures } from '../../adapters/prometheus/client.ts'
import { createMetricSource } from '../../adapters/prometheus/metricClient.ts'
import { createWalMetrics } from '../../adapters/prometheus/walMetrics.ts'
import { createReleaseFeed } from '../../adapters/releases/client.ts'
import { mirrorFetch } from '../../adapters/releases/mirror.ts'
import type { ReleaseFeed } from '../../adapters/releases/port.ts'
import { createCrosslinkReports } from '../../api/crosslink/reports.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeInstallConfiguration } from '../../api/lifecycle/configuration.ts'
import { createKubernetesObjects } from '../../api/monitoring/kubernetesObjects.ts'
import { createNetworkStateReader } from '../../api/network/networkState.ts'
import { createBackupCluster } from '../../api/platformbackups/cluster.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import { createBackups } from '../../api/resources/backups.ts'
import { createLiveState } from '../../api/resources/liveState.ts'
import { createStorage } from '../../api/resources/storage.ts'
import { kubeValues } from '../../api/vaults/values.ts'
import type { TokenEndpoint } from '../../contracts/managedIdentities.ts'
import { parseNetworkSetting } from '../../contracts/networks.ts'
import { BROKERED_PROTOCOLS } from '../../contracts/ssoProviders.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { systemClock } from '../../core/clock.ts'
import { VERSION } from '../../core/release.ts'
import { secret } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import { openOutgoing } from '../outgoing.ts'
import { activityServices } from './activity.ts'
import { buildParts, buildPods } from './builds.ts'
import { databasePorts, databaseServices } from './databases.ts'
import { storagePorts, storageServices } from './objectstorage.ts'
import { recordOfPairs } from './pairs.ts'
import { podLogServices, podLogs } from './podlogs.ts'
import { registryPorts, registryServices, type SignInParts } from './registry.ts'
import { rolloutPorts, rolloutServices } from './rollouts.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'
import { sourcePorts, sourceServices } from './sources.ts'
import { vectorPorts, vectorServices } from './vector.ts'
import { volumeFileServices } from './volumefiles.ts'

/** Creates the services that routes of all areas use. */
export async function areaServices(setup: FacadeSetup & SignInParts) {
  const { client, caches, agents, configuration, log } = setup
  const { prometheusUrl: url, backupNamespace, figuresUrl, role } = configuration
  const clientOf = (clusterId: string) => agents.clientOf(clusterId)
  const secrets = { ...kubeSecrets(client), ...kubeSecretWriter(client) }
  const blobs = secretBlobs(client)
  const { registry, archives } = await registryServices(setup, setup)
  return {
    ...activityServices(setup),
    ...vectorServices(setup),
    ...databaseServices(setup),
    ...podLogServices(setup),
    ...volumeFileServices(setup),
    ...sourceServices(setup),
    ...rolloutServices(setup),
    ...(await storageServices(setup)),
    registry,
    blueprints: { secrets },
    crosslink: { reports: createCrosslinkReports(client), secrets },
    deployments: { ...buildParts(setup).deployments, archives, podOf: buildPods(setup) },
    functions: {
      blobs,
      calls:
        role === 'all'
          ? localActivatorClient(() => setup.activatorHere.calls)
          : createActivatorClient({ url: figuresUrl, log }),
    },
    jobs: jobPorts(setup),
    lifecycle: { configuration: kubeInstallConfiguration(client) },
    managedIdentities: { secrets: kubeSecrets(client), signIn: signInOf(setup) },
    monitoring: {
      metrics: url === undefined ? undefined : createMetricSource({ url, log }),
      objects: createKubernetesObjects({ client, caches, clientOf }),
    },
    network: { stateReader: createNetworkStateReader(client, clientOf), flows: noFlows },
    platformBackups: {
      cluster: createBackupCluster(client, backupNamespace),
      targets: createBackupTargets(),
      logs: url === undefined ? { all: async () => new Map() } : createWalMetrics({ url, log }),
      secrets: {
        ...secrets,
        async remove(ref) {
          await client.remove(secret, ref).catch((error: unknown) => {
            if (!isKubeError(error, 'NotFound')) throw error
          })
        },
      },
    } satisfies Services['platformBackups'],
    vaults: { keys: await platformKeys(setup), values: kubeValues(client), baseUrl: setup.linkBase },
    // What is seen of workloads beside their objects.
    storage: createStorage(caches),
    live: createLiveState({ client, caches, clientOf }),
    backups: createBackups(caches, backupNamespace, clientOf),
    requestFigures: url === undefined ? { of: async () => undefined } : createRequestFigures({ url, log }),
  }
}

function signInOf({ configuration: { issuer, audience, realm } }: AreaSetup): TokenEndpoint {
  return { tokenUrl: `${issuer}/protocol/openid-connect/token`, audience, realm }
}

/** Creates the ports that controllers of all areas use. */
export async function areaPorts(setup: AreaSetup): Promise<ControllerPorts> {
  const { allowOwnImages, projectRbac, closedNetworks, apiServerNetworks, podDiskLimit, podDiskRequest } =
    setup.configuration
  const { namespaceLabels, namespaceAnnotations, releaseFeedMinutes, healthSettleSeconds } = setup.configuration
  const outgoing = openOutgoing(setup.configuration)
  setup.onStop(() => outgoing.close())
  const { registry, archives } = await registryPorts(setup)
  return {
    ...vectorPorts(setup),
    ...databasePorts(setup),
    builds: { ...buildParts(setup).builds, archives },
    ...sourcePorts(setup),
    ...rolloutPorts(setup),
    ...(await storagePorts(setup)),
    registry,
    backupTargets: createBackupTargets(),
    jobs: jobPorts(setup),
    lifecycle: {
      feed: releaseFeed(setup),
      feedInterval: releaseFeedMinutes === 0 ? undefined : releaseFeedMinutes * 60_000,
      healthSettle: healthSettleSeconds * 1000,
      ownVersion: VERSION,
    },
    vaultKeys: await platformKeys(setup),
    crosslink: {
      // Loads the library only where an authority is created.
      createAuthority: async (...given) => (await import('../certificates.ts')).createAuthority(...given),
    },
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

/** Returns the logs of pods, and the store for logs of deleted ones. */
function jobPorts(setup: AreaSetup) {
  return { logs: podLogs(setup), blobs: secretBlobs(setup.client) }
}

/** Opens the platform keys of secret vaults; empty if none are configured. */
async function platformKeys({ configuration, log, onStop }: AreaSetup): Promise<PlatformKeys> {
  const { vaultKeysFile } = configuration
  if (vaultKeysFile === undefined) return noKeys()
  const keys = await openKeyFile(vaultKeysFile, { clock: systemClock, log })
  onStop(() => keys.stop())
  return keys
}

/** Lists of tags can be long. */
const RELEASE_FEED_MAX_BYTES = 4 * 1024 * 1024

function releaseFeed({ configuration, onStop }: AreaSetup): ReleaseFeed {
  const { chartRegistryUrl: url } = configuration
  const outgoing = openOutgoing(configuration, { maxBytes: RELEASE_FEED_MAX_BYTES })
  onStop(() => outgoing.close())
  return createReleaseFeed({
    fetch: outgoing.fetch,
    mirror: url === undefined ? undefined : { url, fetch: mirrorFetch },
  })
}
