import { adoNetString } from '../core/adoNet.ts'
import { hostInUrl } from '../core/hostInUrl.ts'
import { RESTORE_ANNOTATION } from '../core/labels.ts'
import { childName } from '../core/names.ts'
import { type ObjectMeta, objectKey } from '../core/object.ts'

/**
 * What the facade and the controller of relational databases share: names of children, addresses of the engine, and the
 * layout of the owner's Secret. No other code may guess these.
 */

/** PostgreSQL's port, on the instances and on the pooler. */
export const RELATIONAL_PORT = 5432

/** Names of a relational database's children, all in its own namespace. */
export type RelationalNames = {
  /** The CloudNativePG Cluster; names of the engine's pods, volumes and Secrets begin with it. */
  cluster: string
  /** The Service that clients connect to: the primary. It keeps its name when another database takes over. */
  primary: string
  /** The Service of the replicas, for reading. */
  replicas: string
  /** The Service of type LoadBalancer. */
  publicService: string
  /** The Pooler, and the Service that the engine makes for it. */
  pooler: string
  /** The Secret with the name and password of the owner. */
  owner: string
  /** Secrets of the two logins of the editor. */
  reader: string
  writer: string
  /** ObjectStore and ScheduledBackup. */
  backup: string
  /** The Secret with the credentials of the backup target. */
  target: string
  /** Statements that were run in the editor. */
  history: string
  /** The ObjectStore that a database is restored from. */
  source: string
}

export function relationalNames(name: string): RelationalNames {
  // Prefixes, because with suffixes the Services of `a` would collide with those that the engine makes for `a-rw`.
  return {
    cluster: childName('relc', name),
    primary: childName('relcrw', name),
    replicas: childName('relcro', name),
    publicService: childName('relcpublic', name),
    pooler: childName('relcpool', name),
    owner: childName('relcowner', name),
    reader: childName('relcreader', name),
    writer: childName('relcwriter', name),
    backup: childName('relcbackup', name),
    target: childName('relctarget', name),
    source: childName('relcsource', name),
    history: childName('relchistory', name),
  }
}

/** Name of the Secret in which CloudNativePG keeps the certificate authority of a Cluster: `ca.crt`. */
export function caSecretName(cluster: string): string {
  return `${cluster}-ca`
}

/**
 * Returns the host of the primary of this very database: the engine's own Service, because ours may lead to another
 * database (`connectTo`), which some readers of this one may not read.
 */
export function engineHost(namespace: string, name: string): string {
  return serviceHost(`${relationalNames(name).cluster}-rw`, namespace)
}

export type RelationalUsers = { owner: string; writer: string; reader: string }

/** Returns the engine's users for tenant and editor. The tenant names the owner, and may choose one of our names. */
export function relationalUsers(owner: string): RelationalUsers {
  const free = (name: string) => (name === owner ? `${name}_1` : name)
  return { owner, writer: free('app_writer'), reader: free('app_reader') }
}

/** Labels that CloudNativePG sets on the pods of a Cluster (its page on labels and annotations). */
export const ENGINE_CLUSTER_LABEL = 'cnpg.io/cluster'
/** `instance`, or another purpose of a pod. */
export const ENGINE_POD_LABEL = 'cnpg.io/podRole'
export const ENGINE_ROLE_LABEL = 'cnpg.io/instanceRole'
export const ENGINE_SCHEDULE_LABEL = 'cnpg.io/scheduled-backup'

/** Name of the Backup of a snapshot that we request. */
export function snapshotBackupName(snapshotId: string): string {
  return `rsnap-${snapshotId}`
}

/**
 * Returns the name under which a database writes to the backup target. It contains the incarnation, because the engine
 * refuses to write to the archive of a former database of the same name.
 */
export function archiveServerName(cluster: string, incarnation: string): string {
  return `${cluster}-${incarnation.replaceAll('-', '').slice(0, 12)}`
}

/** Entries of the Secrets of the owner and of the editor's logins (kubernetes.io/basic-auth). */
export const OWNER_SECRET_KEYS = { username: 'username', password: 'password' } as const

export type ConnectionParts = {
  host: string
  port: number
  database: string
  username: string
  password: string
}

export const SSL_MODE = 'require'

/** Returns one connection in the formats of drivers. Every part is escaped as its format requires. */
export function connectionForms({ host, port, database, username, password }: ConnectionParts): {
  uri: string
  jdbc: string
  adoNet: string
} {
  const [user, secret, base] = [username, password, database].map(encodeURIComponent)
  const name = hostInUrl(host)
  return {
    uri: `postgresql://${user}:${secret}@${name}:${port}/${base}?sslmode=${SSL_MODE}`,
    jdbc: `jdbc:postgresql://${name}:${port}/${base}?user=${user}&password=${secret}&sslmode=${SSL_MODE}`,
    adoNet: adoNetString({
      ...{ Host: host, Port: port, Database: database },
      ...{ Username: username, Password: password, 'SSL Mode': 'Require' },
    }),
  }
}

/** Returns where clients inside the cluster reach a Service of a database. */
export function serviceHost(service: string, namespace: string): string {
  return `${service}.${namespace}.svc`
}

/**
 * PostgreSQL parameters that run commands or code, or that the platform and the engine set themselves. With one of them
 * a tenant could get a shell in the pod, or a database that the platform can neither back up nor reach.
 */
export const REFUSED_PARAMETERS: readonly string[] = [
  'allow_alter_system',
  'allow_system_table_mods',
  'archive_cleanup_command',
  'archive_command',
  'archive_library',
  'archive_mode',
  'bonjour',
  'bonjour_name',
  'cluster_name',
  'config_file',
  'data_directory',
  'data_sync_retry',
  'dynamic_library_path',
  'event_source',
  'extension_control_path',
  'external_pid_file',
  'hba_file',
  'hot_standby',
  'ident_file',
  'jit_provider',
  'krb_server_keyfile',
  'listen_addresses',
  'local_preload_libraries',
  'log_destination',
  'log_directory',
  'log_file_mode',
  'log_filename',
  'log_rotation_age',
  'log_rotation_size',
  'log_truncate_on_rotation',
  'logging_collector',
  'oauth_validator_libraries',
  'port',
  'primary_conninfo',
  'primary_slot_name',
  'promote_trigger_file',
  'recovery_end_command',
  'recovery_min_apply_delay',
  'restart_after_crash',
  'restore_command',
  'session_preload_libraries',
  'shared_preload_libraries',
  'stats_temp_directory',
  'synchronized_standby_slots',
  'synchronous_standby_names',
  'syslog_facility',
  'syslog_ident',
  'syslog_sequence_numbers',
  'syslog_split_messages',
  'temp_tablespaces',
  'unix_socket_directories',
  'unix_socket_group',
  'unix_socket_permissions',
  'wal_level',
]
/** Prefixes of further refused parameters. */
export const REFUSED_PARAMETER_PREFIXES: readonly string[] = ['include', 'ssl', 'recovery_target']

export function isRefusedParameter(name: string): boolean {
  return REFUSED_PARAMETERS.includes(name) || REFUSED_PARAMETER_PREFIXES.some((prefix) => name.startsWith(prefix))
}

type Base = {
  readonly metadata: Pick<ObjectMeta, 'name' | 'deletionTimestamp'>
  readonly status?: { readonly completedAt?: string | undefined; readonly serverName?: string | undefined } | undefined
}

/**
 * Whether nothing could be restored of the database without this snapshot.
 *
 * @param siblings all snapshots of the database
 * @param serverName under which this incarnation of the database is backed up; undefined before its first backup
 */
export function isLastBaseBackup(snapshot: Base, siblings: readonly Base[], serverName: string | undefined): boolean {
  const isBase = ({ status }: Base) => status?.completedAt !== undefined && status.serverName === serverName
  if (serverName === undefined || !isBase(snapshot)) return false
  const isKept = ({ metadata }: Base) =>
    metadata.deletionTimestamp === undefined && metadata.name !== snapshot.metadata.name
  return !siblings.some((other) => isKept(other) && isBase(other))
}

type Restored = {
  readonly metadata: ObjectMeta
  readonly spec: { readonly restoreFrom?: { readonly clusterName: string; readonly snapshotId: string } | undefined }
  readonly status?: { readonly firstReadyAt?: string | undefined } | undefined
}

/**
 * Whether a database is being restored from this snapshot and does not have its data yet. One of another group counts
 * only if REST permitted it: anybody can name a snapshot, and must not block its deletion by that.
 */
export function isBeingRestored(
  { metadata, spec: { restoreFrom }, status }: Restored,
  snapshot: { readonly metadata: ObjectMeta; readonly spec: { readonly clusterName: string } },
): boolean {
  const { namespace, name } = snapshot.metadata
  if (restoreFrom?.snapshotId !== name || restoreFrom.clusterName !== snapshot.spec.clusterName) return false
  if (status?.firstReadyAt !== undefined || metadata.deletionTimestamp !== undefined) return false
  return metadata.namespace === namespace || metadata.annotations?.[RESTORE_ANNOTATION] === objectKey(namespace, name)
}

type Archive = {
  readonly archiving?: string | undefined
  readonly firstRecoverableAt?: string | undefined
  readonly archivingStoppedAt?: string | undefined
  readonly archivingGaps?: readonly { readonly from: string; readonly to?: string | undefined }[] | undefined
}

/** Returns the later of two times, RFC 3339; the first if they are in the same millisecond. */
export function laterTime(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Date.parse(other) > Date.parse(one) ? other : one
}

/** Returns the earlier of two times, RFC 3339; the first if they are in the same millisecond. */
export function earlierTime(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Date.parse(other) < Date.parse(one) ? other : one
}

/**
 * Returns the last moment that a database's archive reaches, RFC 3339; undefined without one. A base backup is complete
 * in itself: if the archive stopped before the first one, or the engine's clock is fast, only that one can be restored.
 */
export function archiveEndOf(archive: Archive | undefined, now: string): string | undefined {
  const { archiving = 'Disabled', firstRecoverableAt, archivingStoppedAt } = archive ?? {}
  if (archiving === 'Disabled' || firstRecoverableAt === undefined) return undefined
  return laterTime(firstRecoverableAt, archivingStoppedAt ?? now)
}

/**
 * Returns why a snapshot cannot be restored to a moment, with the possible range; undefined if it can.
 *
 * @param archive of the database that the snapshot was taken of; undefined if that is gone
 */
export function recoveryWindowObstacle(
  targetTime: string,
  completedAt: string,
  archive: Archive | undefined,
  now: string,
): { message: string; earliest: string; latest: string } | undefined {
  const [earliest, latest] = [completedAt, laterTime(completedAt, archiveEndOf(archive, now)) ?? completedAt]
  const wanted = Date.parse(targetTime)
  const gaps = archiveEndOf(archive, now) === undefined ? [] : (archive?.archivingGaps ?? [])
  const isInGap = gaps.some(({ from, to = now }) => wanted > Date.parse(from) && wanted < Date.parse(to))
  if (wanted >= Date.parse(earliest) && wanted <= Date.parse(latest) && !isInGap) return undefined
  const message = `With this snapshot, ${earliest} to ${latest} can be restored; ${targetTime} cannot.`
  return { message, earliest, latest }
}
