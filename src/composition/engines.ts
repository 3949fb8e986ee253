import type { ObjectStore } from '../adapters/objectstorage/port.ts'
import { noKeys, openKeyFile } from '../adapters/platformkeys/file.ts'
import type { PlatformKeys } from '../adapters/platformkeys/port.ts'
import { kubePodLogs } from '../adapters/podlogs/client.ts'
import type { PodLogs } from '../adapters/podlogs/port.ts'
import { createQdrantClient } from '../adapters/qdrant/client.ts'
import { playedEngine } from '../adapters/qdrant/played.ts'
import type { QdrantPort } from '../adapters/qdrant/port.ts'
import { directReach, proxyReach } from '../adapters/qdrant/reach.ts'
import { DriverEngine } from '../adapters/sql/engine.ts'
import { mariadbDriver } from '../adapters/sql/mariadb.ts'
import { mssqlDriver } from '../adapters/sql/mssql.ts'
import { playedEngine as playedSqlEngine } from '../adapters/sql/played.ts'
import type { SqlEngine } from '../adapters/sql/port.ts'
import { postgresqlDriver } from '../adapters/sql/postgresql.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import { SEAWEED_PORT, type SeaweedPlace, seaweedEndpoint } from '../contracts/objectstorage.ts'
import { ADMIN_USERS } from '../contracts/sql.ts'
import { systemClock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { BackupTarget } from '../desired/relational/index.ts'
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

/** Where backups of databases go; undefined where no bucket is configured. */
export function backupTarget(
  configuration: Pick<Configuration, 'backupBucket' | 'backupEndpoint' | 'backupPrefix' | 'backupRegion'>,
): BackupTarget | undefined {
  const { backupBucket: bucket, backupEndpoint: endpoint, backupPrefix: prefix, backupRegion: region } = configuration
  return bucket === undefined ? undefined : { bucket, endpoint, prefix, region }
}

/** How SQL instances and relational databases are spoken to: by DNS inside the cluster; where pods are played, only those that really run. */
export function sqlEngines(
  configuration: Pick<Configuration, 'engines' | 'playedEngines'>,
): Readonly<Record<'MsSql' | 'MariaDb' | 'PostgreSql', SqlEngine>> {
  const [mssql, mariadb] = [new DriverEngine(mssqlDriver), new DriverEngine(mariadbDriver)]
  const postgresql = new DriverEngine(postgresqlDriver)
  if (configuration.engines === 'real') return { MsSql: mssql, MariaDb: mariadb, PostgreSql: postgresql }
  const { playedEngines } = configuration
  return {
    MsSql: playedSqlEngine(mssql, playedEngines, [ADMIN_USERS.MsSql]),
    MariaDb: playedSqlEngine(mariadb, playedEngines, [ADMIN_USERS.MariaDb]),
    // Nobody speaks to it as its administrator.
    PostgreSql: playedSqlEngine(postgresql, playedEngines, []),
  }
}

type StoreConfiguration = Pick<Configuration, Extract<keyof Configuration, `objectStore${string}`>>

/**
 * The Seaweed that the store is of; undefined where the configuration names none.
 *
 * @throws ConfigurationError where the store is another one
 */
export function seaweedPlace(
  configuration: Pick<Configuration, 'objectStoreDriver' | 'objectStoreEndpoint' | 'objectStoreSeaweed'>,
): SeaweedPlace | undefined {
  const { objectStoreDriver: driver, objectStoreEndpoint: endpoint, objectStoreSeaweed: text } = configuration
  if (text === undefined) return undefined
  if (driver !== 'seaweedfs') throw new ConfigurationError('objectStoreSeaweed needs the objectStoreDriver seaweedfs.')
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name, port: endpoint === undefined ? SEAWEED_PORT : undefined }
}

/**
 * The store behind object storage; undefined where none is configured. Its client is loaded only where it is.
 *
 * @throws ConfigurationError where the driver lacks its endpoint or credentials
 */
export async function objectStore(configuration: StoreConfiguration): Promise<ObjectStore | undefined> {
  const { objectStoreDriver: driver } = configuration
  const { objectStoreAccessKeyId: accessKeyId, objectStoreSecretAccessKey: secretAccessKey } = configuration
  if (driver === 'none') return undefined
  const seaweed = seaweedPlace(configuration)
  const endpoint = configuration.objectStoreEndpoint ?? (seaweed === undefined ? undefined : seaweedEndpoint(seaweed))
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigurationError(
      'objectStoreDriver needs objectStoreEndpoint or objectStoreSeaweed, objectStoreAccessKeyId and objectStoreSecretAccessKey.',
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

/** Logs of pods; none where pods are played. */
export function podLogs(configuration: Configuration, client: KubeClient): PodLogs {
  return kubePodLogs(client, { isPlayed: configuration.simulated.includes('pods') })
}
