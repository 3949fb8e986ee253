import { createQdrantClient } from '../../adapters/qdrant/client.ts'
import { playedEngine } from '../../adapters/qdrant/played.ts'
import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import { directReach, proxyReach } from '../../adapters/qdrant/reach.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets } from '../../api/records/secrets.ts'
import type { Configuration } from '../../config.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { AreaSetup } from './setup.ts'

export function vectorServices({ configuration, client }: AreaSetup): Pick<Services, 'vector'> {
  const { allowOwnImages } = configuration
  return { vector: { engine: vectorEngine(configuration, client), secrets: kubeSecrets(client), allowOwnImages } }
}

export function vectorPorts({ configuration, client }: AreaSetup): Pick<ControllerPorts, 'vectorEngine'> {
  return { vectorEngine: vectorEngine(configuration, client) }
}

/** How vector databases are spoken to: played where pods are played, else by DNS or through the API server. */
function vectorEngine(configuration: Pick<Configuration, 'engines' | 'engineAccess'>, client: KubeClient): QdrantPort {
  if (configuration.engines === 'simulated') return playedEngine()
  return createQdrantClient(configuration.engineAccess === 'service' ? directReach() : proxyReach(client))
}
