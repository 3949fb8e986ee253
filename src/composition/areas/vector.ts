import { createQdrantClient } from '../../adapters/qdrant/client.ts'
import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import { simulatedEngine } from '../../adapters/qdrant/simulated.ts'
import { directTransport, podProxyTransport } from '../../adapters/qdrant/transport.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets } from '../../api/records/secrets.ts'
import type { Configuration } from '../../config.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { AreaSetup } from './setup.ts'

export function vectorServices({ configuration, client, agents }: AreaSetup): Pick<Services, 'vector'> {
  const { allowOwnImages } = configuration
  const secrets = kubeSecrets(client, (clusterId) => agents.clientOf(clusterId))
  return { vector: { engine: vectorEngine(configuration, client, agents), secrets, allowOwnImages } }
}

export function vectorPorts({ configuration, client, agents }: AreaSetup): Pick<ControllerPorts, 'vectorEngine'> {
  return { vectorEngine: vectorEngine(configuration, client, agents) }
}

/** Opens the engine of vector databases: simulated like the pods, or reached by DNS or through the API server. */
function vectorEngine(
  configuration: Pick<Configuration, 'engines' | 'engineAccess'>,
  client: KubeClient,
  agents: AreaSetup['agents'],
): QdrantPort {
  if (configuration.engines === 'simulated') return simulatedEngine()
  const ownTransport = configuration.engineAccess === 'service' ? directTransport() : podProxyTransport(client)
  // DNS names of other clusters do not resolve here, so their API servers are used.
  const reachOf = (clusterId: string | undefined) =>
    clusterId === undefined ? ownTransport : podProxyTransport(agents.clientOf(clusterId))
  return createQdrantClient({ send: async (target, request) => reachOf(target.clusterId).send(target, request) })
}
