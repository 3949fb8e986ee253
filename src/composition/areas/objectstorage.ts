import type { ObjectStore } from '../../adapters/objectstorage/port.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets } from '../../api/records/secrets.ts'
import { type Configuration, ConfigurationError } from '../../config.ts'
import { SEAWEED_PORT, type SeaweedRef, seaweedEndpoint } from '../../contracts/objectstorage.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { AreaSetup } from './setup.ts'

export async function storageServices(setup: AreaSetup): Promise<Pick<Services, 'objectStorage'>> {
  return { objectStorage: { store: await openConfigured(setup), secrets: kubeSecrets(setup.client) } }
}

export async function storagePorts(setup: AreaSetup): Promise<Pick<ControllerPorts, 'objectStorage'>> {
  const { configuration } = setup
  const usageInterval = configuration.objectStoreUsageSeconds * 1000
  return { objectStorage: { store: await openConfigured(setup), usageInterval, seaweed: seaweedRef(configuration) } }
}

async function openConfigured({ configuration, onStop }: AreaSetup): Promise<ObjectStore | undefined> {
  const store = await objectStore(configuration)
  onStop(() => store?.close())
  return store
}

type StoreConfiguration = Pick<Configuration, Extract<keyof Configuration, `objectStore${string}`>>

/**
 * Returns the SeaweedFS cluster behind the store; undefined if none is configured.
 *
 * @throws ConfigurationError if the driver is not seaweedfs
 */
export function seaweedRef(
  configuration: Pick<Configuration, 'objectStoreDriver' | 'objectStoreEndpoint' | 'objectStoreSeaweed'>,
): SeaweedRef | undefined {
  const { objectStoreDriver: driver, objectStoreEndpoint: endpoint, objectStoreSeaweed: text } = configuration
  if (text === undefined) return undefined
  if (driver !== 'seaweedfs') throw new ConfigurationError('objectStoreSeaweed needs objectStoreDriver: seaweedfs.')
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name, port: endpoint === undefined ? SEAWEED_PORT : undefined }
}

/**
 * Opens the object store; undefined if none is configured. Only then is its client loaded.
 *
 * @throws ConfigurationError if endpoint or credentials are missing, or the driver keeps no folders
 */
export async function objectStore(configuration: StoreConfiguration): Promise<ObjectStore | undefined> {
  const { objectStoreDriver: driver } = configuration
  const { objectStoreAccessKeyId: accessKeyId, objectStoreSecretAccessKey: secretAccessKey } = configuration
  if (driver === 'none') return undefined
  const seaweed = seaweedRef(configuration)
  const endpoint = configuration.objectStoreEndpoint ?? (seaweed === undefined ? undefined : seaweedEndpoint(seaweed))
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigurationError(
      'objectStoreDriver needs objectStoreEndpoint or objectStoreSeaweed, objectStoreAccessKeyId and objectStoreSecretAccessKey.',
    )
  }
  if (configuration.objectStoreFolder !== undefined && driver !== 'versitygw')
    throw new ConfigurationError('objectStoreFolder needs objectStoreDriver: versitygw.')
  const { DRIVERS, openStore } = await import('../../adapters/objectstorage/client.ts')
  return openStore({
    driver: DRIVERS[driver],
    version: configuration.objectStoreVersion,
    endpoint: endpoint.replace(/\/+$/, ''),
    iamEndpoint: configuration.objectStoreUsersEndpoint,
    publicEndpoint: configuration.objectStorePublicEndpoint?.replace(/\/+$/, ''),
    regionName: configuration.objectStoreRegion,
    credentials: { accessKeyId, secretAccessKey },
    accessLog: configuration.objectStoreAccessLog,
    folder: configuration.objectStoreFolder,
  })
}
