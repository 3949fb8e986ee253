import { passwordEntry, productKeyEntry, SQL_PORTS, sqlNames, sqlSelector } from '../../contracts/sql.ts'
import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import { defaultEdition, newestVersion } from '../../crds/sql.ts'
import { storageSizeAnnotation, volumeClaimTemplate } from '../volumeClaims.ts'
import { engineConfiguration, engineMemoryMb } from './config.ts'
import { type Child, labelsOf, metadataOf, type SqlInput } from './types.ts'

const VOLUME = 'storage'
/** The users of the engines' own images. */
const USERS = { MsSql: 10001, MariaDb: 999 } as const

export function sqlImage({ engine, engineVersion }: SqlInput['instance']['spec']): string {
  const version = engineVersion ?? newestVersion(engine)
  return engine === 'MsSql'
    ? `mcr.microsoft.com/mssql/server:${version}-latest`
    : `docker.io/library/mariadb:${version}`
}

/** One pod and no more: two engines on one volume would destroy it. */
export function statefulSet(input: SqlInput): Child<'StatefulSet'> {
  const { name } = input.instance.metadata
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { ...metadataOf(input, sqlNames(name).workload), annotations: storageSizeAnnotation(input.plan) },
    spec: {
      replicas: input.replicas,
      serviceName: sqlNames(name).peers,
      selector: { matchLabels: sqlSelector(name) },
      // Ordered, the controller waits for a pod that cannot start before it takes a template that could mend it.
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      revisionHistoryLimit: 5,
      template: {
        metadata: { labels: labelsOf(input), annotations: templateAnnotations(input) },
        spec: podSpec(input),
      },
      volumeClaimTemplates: [volumeClaimTemplate({ name: VOLUME, labels: labelsOf(input), ...input })],
    },
  }
}

/** A change of any of them is a restart. */
function templateAnnotations(input: SqlInput): Record<string, string> {
  const { restartedAt } = input.instance.spec
  return {
    [`${PREFIX}config`]: sha256(JSON.stringify(engineConfiguration(input))).slice(0, 16),
    ...(restartedAt === undefined ? {} : { [`${PREFIX}restarted-at`]: restartedAt }),
  }
}

function podSpec(input: SqlInput): object {
  const { engine } = input.instance.spec
  const user = USERS[engine]
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // An engine writes its cache to the volume before it ends.
    terminationGracePeriodSeconds: 120,
    // Microsoft's image is made for one architecture.
    ...(engine === 'MsSql' ? { nodeSelector: { 'kubernetes.io/arch': 'amd64' } } : {}),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container(input)],
    volumes: [
      { name: 'config', configMap: { name: sqlNames(input.instance.metadata.name).config } },
      { name: 'run', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  }
}

function container(input: SqlInput): object {
  const { plan, instance } = input
  const { engine } = instance.spec
  const probe = (periodSeconds: number, failureThreshold: number) => ({
    tcpSocket: { port: 'sql' },
    periodSeconds,
    failureThreshold,
    timeoutSeconds: 3,
  })
  return {
    name: engine === 'MsSql' ? 'mssql' : 'mariadb',
    image: sqlImage(instance.spec),
    env: engine === 'MsSql' ? mssqlEnvironment(input) : mariadbEnvironment(input),
    ports: [{ name: 'sql', containerPort: SQL_PORTS[engine], protocol: 'TCP' }],
    // The port opens when the log was replayed, which takes long after a crash.
    startupProbe: probe(5, 720),
    livenessProbe: probe(10, 6),
    readinessProbe: probe(5, 3),
    resources: {
      requests: { cpu: plan.cpuRequest, memory: plan.memoryRequest },
      limits: { cpu: plan.cpuLimit, memory: plan.memoryLimit },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      // SQL Server writes beside its volume.
      readOnlyRootFilesystem: engine === 'MariaDb',
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: engine === 'MsSql' ? mssqlMounts() : mariadbMounts(),
  }
}

function mariadbMounts(): object[] {
  return [
    // Not the root of the volume, where the file system keeps a folder of its own.
    { name: VOLUME, mountPath: '/var/lib/mysql', subPath: 'mysql' },
    { name: 'config', mountPath: '/etc/mysql/conf.d', readOnly: true },
    { name: 'run', mountPath: '/run/mysqld' },
    { name: 'tmp', mountPath: '/tmp' },
  ]
}

function mssqlMounts(): object[] {
  return [
    { name: VOLUME, mountPath: '/var/opt/mssql' },
    { name: 'config', mountPath: '/var/opt/mssql/mssql.conf', subPath: 'mssql.conf', readOnly: true },
    { name: 'tmp', mountPath: '/tmp' },
  ]
}

function secretValue(name: string, secretName: string, key: string): object {
  return { name, valueFrom: { secretKeyRef: { name: secretName, key } } }
}

function mariadbEnvironment({ instance }: SqlInput): object[] {
  const { logins } = sqlNames(instance.metadata.name)
  return [
    { name: 'TZ', value: instance.spec.timeZone },
    { name: 'MARIADB_ROOT_HOST', value: '%' },
    secretValue('MARIADB_ROOT_PASSWORD', logins, passwordEntry('admin')),
  ]
}

function mssqlEnvironment(input: SqlInput): object[] {
  const { metadata, spec } = input.instance
  const { logins, license } = sqlNames(metadata.name)
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
      : secretValue('MSSQL_PID', license, productKeyEntry(productKeyVersion)),
    secretValue('MSSQL_SA_PASSWORD', logins, passwordEntry('admin')),
  ]
}
