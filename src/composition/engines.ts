import type { ObjectStore } from '../adapters/objectstorage/port.ts'
import { createQdrantClient } from '../adapters/qdrant/client.ts'
import { playedEngine } from '../adapters/qdrant/played.ts'
import type { QdrantPort } from '../adapters/qdrant/port.ts'
import { directReach, proxyReach } from '../adapters/qdrant/reach.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import type { KubeClient } from '../kube/client.ts'

/** How vector databases are spoken to: played where pods are played, else by DNS or through the API server. */
export function vectorEngine(
  configuration: Pick<Configuration, 'engines' | 'engineAccess'>,
  client: KubeClient,
): QdrantPort {
  if (configuration.engines === 'simulated') return playedEngine()
  return createQdrantClient(configuration.engineAccess === 'service' ? directReach() : proxyReach(client))
}

/**
 * The store behind object storage; undefined where none is configured. Its client is loaded only where it is.
 *
 * @throws ConfigurationError where the driver lacks its endpoint or credentials
 */
export async function objectStore(configuration: Configuration): Promise<ObjectStore | undefined> {
  const { objectStoreDriver: driver, objectStoreEndpoint: endpoint } = configuration
  const { objectStoreAccessKeyId: accessKeyId, objectStoreSecretAccessKey: secretAccessKey } = configuration
  if (driver === 'none') return undefined
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigurationError(
      'objectStoreDriver needs objectStoreEndpoint, objectStoreAccessKeyId and objectStoreSecretAccessKey.',
    )
  }
  const { DRIVERS, openStore } = await import('../adapters/objectstorage/client.ts')
  return openStore({
    driver: DRIVERS[driver],
    version: configuration.objectStoreVersion,
    endpoint: endpoint.replace(/\/+$/, ''),
    iamEndpoint: configuration.objectStoreUsersEndpoint,
    publicEndpoint: configuration.objectStorePublicEndpoint?.replace(/\/+$/, ''),
    regionName: configuration.objectStoreRegion,
    credentials: { accessKeyId, secretAccessKey },
    accessLog: configuration.objectStoreAccessLog,
  })
}
