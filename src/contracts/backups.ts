import { timestamp } from '../core/clock.ts'
import { childName, sha256 } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'

/** What the facade and the controllers both make of Velero: where backups go, what is in the way, and what was taken. */

/** Of those that are backed up, what the names of their Schedules begin with. */
export const BACKUP_STEMS = { ContainerInstance: 'ctibackup', PlatformApp: 'pappbackup' } as const

/** The Schedule, and the ConfigMap with its volume policy, of a resource. They stand beside those of every namespace. */
export function backupName({
  kind,
  metadata: { namespace = '', name },
}: Pick<KubeObject, 'kind' | 'metadata'>): string {
  const stem = BACKUP_STEMS[kind === 'ContainerInstance' ? kind : 'PlatformApp']
  return childName(stem, name, sha256(`${namespace}/${name}`).slice(0, 10))
}

export type BackupLocation = KubeObject & {
  spec?: { default?: boolean; accessMode?: string }
  status?: { phase?: string }
}

/** The place that backups of tenants go to: the default one of Velero, or the only one. */
export function targetOf(locations: readonly BackupLocation[]): BackupLocation | undefined {
  return locations.find(({ spec }) => spec?.default === true) ?? (locations.length === 1 ? locations[0] : undefined)
}

/** Why nothing can be written to it now; undefined if it can. */
export function targetObstacle(target: BackupLocation | undefined): string | undefined {
  if (target === undefined)
    return 'This platform has no backup target: an administrator must create a default BackupStorageLocation of Velero.'
  if (target.spec?.accessMode === 'ReadOnly') return 'The backup target of this platform is read-only now.'
  if (target.status?.phase === 'Available') return undefined
  return 'The backup target of this platform is not available; its administrator can see why in Velero.'
}

type Volume = { name: string; kind: string; storageClass?: string | undefined }
type Policy = { method: string; volumes?: readonly string[] | undefined }
export type SnapshotClass = KubeObject & { driver?: string }
export type StorageClass = KubeObject & { provisioner?: string }

/** The Persistent volumes that a policy is about. */
export function backedUp<V extends Volume>(volumes: readonly V[], policy: Policy): V[] {
  return volumes.filter(({ name, kind }) => kind === 'Persistent' && (policy.volumes?.includes(name) ?? true))
}

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

/** Why snapshots cannot be taken of a volume; undefined if they can, or none are wanted. */
export function snapshotObstacle(
  volumes: readonly Volume[],
  policy: Policy,
  classes: { storage: readonly StorageClass[]; snapshot: readonly SnapshotClass[] },
): { volume: string; message: string } | undefined {
  if (policy.method !== 'Snapshot') return undefined
  for (const { name, storageClass } of backedUp(volumes, policy)) {
    const found = classes.storage.find(({ metadata }) =>
      storageClass === undefined ? metadata.annotations?.[DEFAULT_CLASS] === 'true' : metadata.name === storageClass,
    )
    if (found !== undefined && classes.snapshot.some(({ driver }) => driver === found.provisioner)) continue
    const ofClass = found === undefined ? 'its storage class' : `storage class "${found.metadata.name}"`
    const message = `Volume "${name}" cannot be backed up by Snapshot: ${ofClass} has no VolumeSnapshotClass. Use the method FileSystem.`
    return { volume: name, message }
  }
  return undefined
}

export type Backup = KubeObject & {
  spec?: { ttl?: string }
  status?: {
    phase?: string
    startTimestamp?: string
    completionTimestamp?: string
    expiration?: string
    errors?: number
    warnings?: number
    failureReason?: string
    validationErrors?: readonly string[]
  }
}

const FAILED: ReadonlySet<string> = new Set(['Failed', 'PartiallyFailed', 'FailedValidation'])
const isOver = ({ status }: Backup) => status?.phase === 'Completed' || FAILED.has(status?.phase ?? '')

export function startOf({ metadata, status }: Backup): string {
  return status?.startTimestamp ?? metadata.creationTimestamp ?? ''
}

/** That of backups that do not say how long they are kept, in Velero. */
const TTL_HOURS = 720

/** When it is deleted. Until Velero has begun, it follows from what was asked for, a duration as Go writes it. */
export function expiryOf(backup: Backup): string {
  const { spec, status } = backup
  if (status?.expiration !== undefined) return status.expiration
  const [, hours = TTL_HOURS, minutes = 0] = /^(\d+)h(?:(\d+)m)?/.exec(spec?.ttl ?? '') ?? []
  return timestamp(Date.parse(startOf(backup)) + (Number(hours) * 60 + Number(minutes)) * 60_000)
}

export function newestFirst(backups: readonly Backup[]): Backup[] {
  return [...backups].sort((one, other) => startOf(other).localeCompare(startOf(one)) || byName(one, other))
}
const byName = (one: Backup, other: Backup) => other.metadata.name.localeCompare(one.metadata.name)

/** The phase as Velero says it; New before it says anything. */
export function phaseOf({ status }: Backup): string {
  return status?.phase ?? 'New'
}

/** What a backup that did not go well says of itself; undefined of all others. */
export function failureOf(backup: Backup): string | undefined {
  const { phase = '', errors = 0, warnings = 0 } = backup.status ?? {}
  if (!FAILED.has(phase)) return undefined
  if (phase === 'FailedValidation') return 'Velero refused the backup; an administrator can see why.'
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`
  return `It ended as ${phase} with ${counted(errors, 'error')} and ${counted(warnings, 'warning')}.`
}

/** The newest that is over. */
export function lastOver(backups: readonly Backup[]): Backup | undefined {
  return newestFirst(backups).find(isOver)
}

/** Of one resource, whatever its policy says: each is an object that Velero and the platform have in memory. */
export const BACKUPS_MAX = 500

/**
 * Those that are older than as many good ones as are kept, and than as many of any kind as there may be. One that failed
 * never takes the place of a good one, but goes in the end.
 */
export function surplusOf(backups: readonly Backup[], keepLast: number | undefined): Backup[] {
  const over = newestFirst(backups).filter(isOver)
  const good = over.flatMap(({ status }, at) => (status?.phase === 'Completed' ? [at] : []))
  const last = keepLast === undefined ? undefined : good[keepLast - 1]
  return over.filter((_, at) => (last !== undefined && at > last) || at >= BACKUPS_MAX)
}
