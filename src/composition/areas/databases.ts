import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { DriverEngine } from '../../adapters/sql/engine.ts'
import { mariadbDriver } from '../../adapters/sql/mariadb.ts'
import { mssqlDriver } from '../../adapters/sql/mssql.ts'
import type { SqlEngine } from '../../adapters/sql/port.ts'
import { postgresqlDriver } from '../../adapters/sql/postgresql.ts'
import { simulatedEngine } from '../../adapters/sql/simulated.ts'
import { throughPods } from '../../adapters/sql/throughPods.ts'
import { startWorkers } from '../../adapters/workers/pool.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { Configuration } from '../../config.ts'
import { ADMIN_USERS } from '../../contracts/sql.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { SqlInstance } from '../../crds/sql.ts'
import type { BackupTarget } from '../../desired/relational/index.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

export function databaseServices({
  configuration,
  client,
  caches,
  agents,
  onStop,
}: FacadeSetup): Pick<Services, 'sql' | 'relational' | 'workers'> {
  const engines = sqlEngines(configuration, agents)
  const workers = startWorkers()
  onStop(() => workers.stop())
  // Warms up the workers as soon as there is a database.
  for (const { resource } of [SqlInstance, RelationalCluster])
    caches.get(resource).subscribe(() => workers.warm(), { replay: true })
  const clientOf = (clusterId: string) => agents.clientOf(clusterId)
  const secrets = kubeSecrets(client, clientOf)
  const blobs = secretBlobs(client)
  return {
    sql: { engines, secrets, secretWriter: kubeSecretWriter(client, clientOf), blobs },
    relational: {
      engine: engines.PostgreSql,
      secrets,
      allowOwnImages: configuration.allowOwnImages,
      blobs,
      hasBackupTarget: backupTarget(configuration) !== undefined,
    },
    workers,
  }
}

export function databasePorts({
  configuration,
  agents,
}: AreaSetup): Pick<ControllerPorts, 'sqlEngines' | 'backupTarget'> {
  return { sqlEngines: sqlEngines(configuration, agents), backupTarget: backupTarget(configuration) }
}

/** Returns the target for database backups; undefined if no bucket is configured. */
function backupTarget(
  configuration: Pick<Configuration, 'backupBucket' | 'backupEndpoint' | 'backupPrefix' | 'backupRegion'>,
): BackupTarget | undefined {
  const { backupBucket: bucket, backupEndpoint: endpoint, backupPrefix: prefix, backupRegion: region } = configuration
  return bucket === undefined ? undefined : { bucket, endpoint, prefix, region }
}

/**
 * Opens the engines of SQL instances and relational databases: directly inside the cluster, through the API server in
 * others. Where pods are simulated, only engines that really run can be reached.
 */
function sqlEngines(
  configuration: Pick<Configuration, 'engines' | 'playedEngines'>,
  agents: AreaSetup['agents'],
): Readonly<Record<'MsSql' | 'MariaDb' | 'PostgreSql', SqlEngine>> {
  const [mssql, mariadb, postgresql] = [mssqlDriver, mariadbDriver, postgresqlDriver].map((driver) =>
    throughPods(new DriverEngine(driver), (pod, port) => agents.forward(pod, port)),
  ) as [SqlEngine, SqlEngine, SqlEngine]
  if (configuration.engines === 'real') return { MsSql: mssql, MariaDb: mariadb, PostgreSql: postgresql }
  const { playedEngines } = configuration
  return {
    MsSql: simulatedEngine(mssql, playedEngines, [ADMIN_USERS.MsSql]),
    MariaDb: simulatedEngine(mariadb, playedEngines, [ADMIN_USERS.MariaDb]),
    // The platform never signs in as its administrator.
    PostgreSql: simulatedEngine(postgresql, playedEngines, []),
  }
}
