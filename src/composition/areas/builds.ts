import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { blobBuildLogs } from '../../adapters/buildlogs/client.ts'
import { createAddressResolver } from '../../adapters/outgoing/addresses.ts'
import type { Services } from '../../api/http/context.ts'
import type { Configuration } from '../../config.ts'
import { isOfBuild } from '../../contracts/builds/labels.ts'
import { BUILD_NAMESPACE } from '../../contracts/builds/progress.ts'
import type { BuildSettings } from '../../contracts/builds/request.ts'
import { openedNetwork } from '../../contracts/networks.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { currentFile } from '../../core/currentFile.ts'
import { byCreation, type KubeObject } from '../../core/object.ts'
import { pod } from '../../kube/builtin.ts'
import { recordOfPairs } from './pairs.ts'
import { podLogs } from './podlogs.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

/** Nothing is run where pods are simulated, so any name will do. */
const PLAYED_IMAGE = 'freehold-builder'

type Parts = {
  builds: Omit<ControllerPorts['builds'], 'archives'>
  deployments: Pick<Services['deployments'], 'logs'>
}

export function buildParts(setup: AreaSetup): Parts {
  const { configuration, client } = setup
  const { outgoingHosts, circuitUrl, simulated } = configuration
  const blobs = secretBlobs(client)
  const logs = blobBuildLogs(blobs)
  const isSimulated = simulated.includes('pods')
  const image = configuration.buildImage ?? (isSimulated ? PLAYED_IMAGE : undefined)
  const allowedHosts = circuitUrl === undefined ? outgoingHosts : [...outgoingHosts, new URL(circuitUrl).host]
  return {
    deployments: { logs },
    builds: {
      settings: image === undefined ? undefined : settingsOf(image, configuration),
      isSimulated,
      addressesOf: createAddressResolver(allowedHosts),
      logs: podLogs(setup),
      buildLogs: logs,
      sourceBlobs: blobs,
    },
  }
}

/** Returns the newest pod of a build, from the facade's cache. */
export function buildPods({ caches }: Pick<FacadeSetup, 'caches'>): Services['deployments']['podOf'] {
  const pods = caches.get<KubeObject>(pod)
  return (deployment) =>
    pods
      .list({ namespace: BUILD_NAMESPACE })
      .filter(({ metadata }) => isOfBuild(metadata, deployment))
      .sort(byCreation)
      .at(-1)?.metadata.name
}

function settingsOf(image: string, configuration: Configuration): BuildSettings {
  const {
    buildNodeSelector,
    buildPackageMirrors,
    buildNetworks,
    outgoingCertificateAuthority: authority,
  } = configuration
  const authorities = authority === undefined ? undefined : currentFile(authority)
  return {
    image,
    isRegistryInsecure: configuration.registryUrl?.startsWith('http:') === true,
    get certificateAuthority() {
      return authorities?.()
    },
    imageMirror: configuration.buildImageMirror,
    networks: buildNetworks.map((text) => openedNetwork(text, configuration.closedNetworks)),
    packageMirrors: recordOfPairs(buildPackageMirrors),
    scannerImage: configuration.buildScannerImage,
    cpuLimit: configuration.buildCpuLimit,
    memoryLimit: configuration.buildMemoryLimit,
    diskLimit: configuration.buildDiskLimit,
    diskRequest: configuration.podDiskRequest,
    nodeSelector: buildNodeSelector.length === 0 ? undefined : recordOfPairs(buildNodeSelector),
    runtimeClassName: configuration.buildRuntimeClass,
  }
}
