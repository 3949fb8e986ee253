import { passwordEntry, productKeyEntry, SQL_PORTS } from '../../contracts/sql.ts'
import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { sha256 } from '../../core/names.ts'
import { defaultEdition, newestSqlVersion } from '../../crds/sql.ts'
import type { Child } from '../workload/child.ts'
import {
  CONFIG_ANNOTATION,
  probes,
  RESTARTED_AT_ANNOTATION,
  restrictedContainer,
  restrictedPod,
  secretVariable,
  statefulSet,
} from '../workload/pod.ts'
import { engineConfiguration, engineMemoryMb, MARIADB_DATA_DIR } from './config.ts'
import { type SqlInput, sqlApp } from './types.ts'

/** User ids of the engines' official images. */
const ENGINE_UIDS = { MsSql: 10001, MariaDb: 999 } as const

export function sqlImage({ engine, engineVersion }: SqlInput['instance']['spec']): string {
  const version = engineVersion ?? newestSqlVersion(engine)
  return engine === 'MsSql'
    ? `mcr.microsoft.com/mssql/server:${version}-latest`
    : `docker.io/library/mariadb:${version}`
}

/** The StatefulSet with at most one pod: two engines on one volume would corrupt it. */
export function sqlWorkload(input: SqlInput): Child<'StatefulSet'> {
  return statefulSet(input, { replicas: input.replicas, annotations: templateAnnotations(input), pod: podSpec(input) })
}

/** A change of any annotation restarts the pod. */
function templateAnnotations(input: SqlInput): Record<string, string> {
  const { restartedAt } = input.instance.spec
  return {
    [CONFIG_ANNOTATION]: sha256(JSON.stringify(engineConfiguration(input))).slice(0, 16),
    ...(restartedAt === undefined ? {} : { [RESTARTED_AT_ANNOTATION]: restartedAt }),
  }
}

function podSpec(input: SqlInput): object {
  const { engine } = input.instance.spec
  const user = ENGINE_UIDS[engine]
  return restrictedPod(
    { user, fsGroup: user },
    {
      // The engine flushes its cache to the volume before it ends.
      terminationGracePeriodSeconds: 120,
      // Microsoft publishes the image for amd64 only.
      ...(engine === 'MsSql' ? { nodeSelector: { 'kubernetes.io/arch': 'amd64' } } : {}),
      containers: [container(input)],
      volumes: [
        { name: 'config', configMap: { name: input.names.config } },
        { name: 'run', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  )
}

function container(input: SqlInput): object {
  const { plan, instance } = input
  const isMsSql = instance.spec.engine === 'MsSql'
  return restrictedContainer(
    plan,
    {
      name: sqlApp(instance),
      image: sqlImage(instance.spec),
      env: isMsSql ? mssqlEnvironment(input) : mariadbEnvironment(input),
      ports: [{ name: 'sql', containerPort: SQL_PORTS[instance.spec.engine], protocol: 'TCP' }],
      // The port opens after recovery from the log, which can take long after a crash.
      ...probes({ tcpSocket: { port: 'sql' } }),
      volumeMounts: isMsSql ? mssqlMounts() : mariadbMounts(),
    },
    // SQL Server writes outside its volume.
    { writesToRoot: isMsSql },
  )
}

function mariadbMounts(): object[] {
  return [
    // Not the volume's root, where ext4 has a lost+found folder.
    { name: STORAGE_VOLUME, mountPath: MARIADB_DATA_DIR, subPath: 'mysql' },
    { name: 'config', mountPath: '/etc/mysql/conf.d', readOnly: true },
    { name: 'run', mountPath: '/run/mysqld' },
    { name: 'tmp', mountPath: '/tmp' },
  ]
}

function mssqlMounts(): object[] {
  return [
    { name: STORAGE_VOLUME, mountPath: '/var/opt/mssql' },
    { name: 'config', mountPath: '/var/opt/mssql/mssql.conf', subPath: 'mssql.conf', readOnly: true },
    { name: 'tmp', mountPath: '/tmp' },
  ]
}

function mariadbEnvironment({ instance, names }: SqlInput): object[] {
  return [
    { name: 'TZ', value: instance.spec.timeZone },
    { name: 'MARIADB_ROOT_HOST', value: '%' },
    secretVariable('MARIADB_ROOT_PASSWORD', names.logins, passwordEntry('admin')),
  ]
}

function mssqlEnvironment(input: SqlInput): object[] {
  const { spec } = input.instance
  const { logins, license } = input.names
  const edition = spec.edition ?? defaultEdition(spec.engine)
  const { productKeyVersion } = input
  return [
    { name: 'ACCEPT_EULA', value: 'Y' },
    { name: 'TZ', value: spec.timeZone },
    { name: 'MSSQL_COLLATION', value: spec.collation },
    { name: 'MSSQL_TCP_PORT', value: String(SQL_PORTS.MsSql) },
    { name: 'MSSQL_MEMORY_LIMIT_MB', value: String(engineMemoryMb(input)) },
    { name: 'MSSQL_DATA_DIR', value: '/var/opt/mssql/data' },
    { name: 'MSSQL_BACKUP_DIR', value: '/var/opt/mssql/backup' },
    productKeyVersion === undefined
      ? { name: 'MSSQL_PID', value: edition }
      : secretVariable('MSSQL_PID', license, productKeyEntry(productKeyVersion)),
    secretVariable('MSSQL_SA_PASSWORD', logins, passwordEntry('admin')),
  ]
}
