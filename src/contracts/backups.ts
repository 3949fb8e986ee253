import { timestamp } from '../core/clock.ts'
import { childName, sha256 } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { compareTexts } from '../core/textOrder.ts'

/** What the facade and the controllers read from Velero: where backups go, what prevents them, which were taken. */

/** Prefixes of the names of Schedules, by the kind that is backed up. */
export const BACKUP_NAME_PREFIXES = {
  ContainerInstance: 'ctibackup',
  PlatformApp: 'pappbackup',
  SqlInstance: 'sqlibackup',
} as const

const isBackedUpKind = (kind: string): kind is keyof typeof BACKUP_NAME_PREFIXES =>
  Object.hasOwn(BACKUP_NAME_PREFIXES, kind)

/** Names a resource's Schedule, and the ConfigMap of its volume policy, apart from those of all other namespaces. */
export function backupScheduleName({
  kind,
  metadata: { namespace = '', name },
}: Pick<KubeObject, 'kind' | 'metadata'>): string {
  if (!isBackedUpKind(kind)) throw new TypeError(`Volumes of kind ${kind} are not backed up.`)
  return childName(BACKUP_NAME_PREFIXES[kind], name, sha256(`${namespace}/${name}`).slice(0, 10))
}

export type BackupLocation = KubeObject & {
  spec?: { default?: boolean; accessMode?: string }
  status?: { phase?: string }
}

/** Returns where backups of tenants go: the default location of Velero, or the only one. */
export function selectBackupLocation(locations: readonly BackupLocation[]): BackupLocation | undefined {
  return locations.find(({ spec }) => spec?.default === true) ?? (locations.length === 1 ? locations[0] : undefined)
}

/** Returns why nothing can be written to the location now; undefined if it can. */
export function backupLocationObstacle(target: BackupLocation | undefined): string | undefined {
  if (target === undefined)
    return 'This platform has no backup target: an administrator must create a default BackupStorageLocation of Velero.'
  if (target.spec?.accessMode === 'ReadOnly') return 'The backup target of this platform is read-only now.'
  if (target.status?.phase === 'Available') return undefined
  return 'The backup target of this platform is not available; its administrator can see why in Velero.'
}

/** A volume that a policy covers; without a storage class it has the default one. */
export type CoveredVolume = { name: string; storageClass?: string | undefined }
type Volume = CoveredVolume & { kind: string }
export type SnapshotClass = KubeObject & { driver?: string }
export type StorageClass = KubeObject & { provisioner?: string }
export type VolumeClasses = { storage: readonly StorageClass[]; snapshot: readonly SnapshotClass[] }

/** Returns the Persistent volumes that a policy covers. */
export function selectBackedUpVolumes<V extends Volume>(
  volumes: readonly V[],
  policy: { volumes?: readonly string[] | undefined },
): V[] {
  return volumes.filter(({ name, kind }) => kind === 'Persistent' && (policy.volumes?.includes(name) ?? true))
}

const DEFAULT_CLASS_ANNOTATION = 'storageclass.kubernetes.io/is-default-class'
const DEFAULT_SNAPSHOT_CLASS_ANNOTATION = 'snapshot.storage.kubernetes.io/is-default-class'

/** Returns the storage class of that name; the default one if there is no name. */
export function findStorageClass(
  name: string | undefined,
  { storage }: Pick<VolumeClasses, 'storage'>,
): StorageClass | undefined {
  return storage.find(({ metadata }) =>
    name === undefined ? metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true' : metadata.name === name,
  )
}

/** Returns the classes for snapshots of volumes of this storage class, by name. */
function snapshotClassesOf(storageClass: string | undefined, classes: VolumeClasses): SnapshotClass[] {
  const found = findStorageClass(storageClass, classes)
  return classes.snapshot
    .filter(({ driver }) => found !== undefined && driver === found.provisioner)
    .sort((one, other) => compareTexts(one.metadata.name, other.metadata.name))
}

/** Returns what takes snapshots of volumes of this storage class: the default of its driver, or the first by name. */
export function selectSnapshotClass(
  storageClass: string | undefined,
  classes: VolumeClasses,
): SnapshotClass | undefined {
  const fitting = snapshotClassesOf(storageClass, classes)
  const isDefault = ({ metadata }: SnapshotClass) =>
    metadata.annotations?.[DEFAULT_SNAPSHOT_CLASS_ANNOTATION] === 'true'
  return fitting.find(isDefault) ?? fitting[0]
}

/** Returns why volumes of this storage class cannot be snapshotted, as a clause; undefined if they can. */
function snapshotClassObstacle(storageClass: string | undefined, classes: VolumeClasses): string | undefined {
  if (snapshotClassesOf(storageClass, classes).length > 0) return undefined
  return `${clauseSubjectOf(storageClass, classes)} has no VolumeSnapshotClass.`
}

function clauseSubjectOf(storageClass: string | undefined, classes: VolumeClasses): string {
  const found = findStorageClass(storageClass, classes)
  return found === undefined ? 'its storage class' : `storage class "${found.metadata.name}"`
}

/** What to do without snapshots: whoever has a policy of their own, and all others. */
export const USE_FILES = 'Use the method FileSystem.'
export const ASK_FOR_SNAPSHOTS = 'An administrator can create one for its driver.'

/** Returns why snapshots of the volumes of a database cannot be taken, and what to do; undefined if they can. */
export function databaseVolumesObstacle(
  database: string,
  storageClass: string | undefined,
  classes: VolumeClasses,
): string | undefined {
  const obstacle = snapshotClassObstacle(storageClass, classes)
  return obstacle && `The volumes of "${database}" cannot be snapshotted: ${obstacle} ${ASK_FOR_SNAPSHOTS}`
}

const SNAPSHOT_CLASS_LABEL = 'velero.io/csi-volumesnapshot-class'

/** Whether Velero takes this one of several classes of a driver. It looks at the keys only. */
function isMarked({ metadata: { labels = {}, annotations = {} } }: SnapshotClass): boolean {
  return SNAPSHOT_CLASS_LABEL in labels || DEFAULT_SNAPSHOT_CLASS_ANNOTATION in annotations
}

/** The same for Velero, which does not choose among several classes. */
function veleroObstacle(storageClass: string | undefined, classes: VolumeClasses): string | undefined {
  const fitting = snapshotClassesOf(storageClass, classes)
  if (fitting.length <= 1 || fitting.some(isMarked)) return snapshotClassObstacle(storageClass, classes)
  const subject = clauseSubjectOf(storageClass, classes)
  return `${subject} has several VolumeSnapshotClasses, but none with the label ${SNAPSHOT_CLASS_LABEL}.`
}

/** What a cluster has for backups of volumes. */
export type BackupMeans = { target: BackupLocation | undefined; classes: VolumeClasses }
type BackupObstacle = {
  code: 'BACKUP_TARGET_MISSING' | 'SNAPSHOT_CLASS_MISSING'
  message: string
  /** The first volume that cannot be snapshotted. */
  volume?: string
}

/**
 * Returns why volumes cannot be backed up now; undefined if they can.
 *
 * @param withoutSnapshots what to do if a volume cannot be snapshotted
 */
export function volumeBackupsObstacle(
  { target, classes }: BackupMeans,
  volumes: readonly CoveredVolume[],
  { method }: { method: string },
  withoutSnapshots: string,
): BackupObstacle | undefined {
  const missing = backupLocationObstacle(target)
  if (missing !== undefined) return { code: 'BACKUP_TARGET_MISSING', message: missing }
  if (method !== 'Snapshot') return undefined
  for (const { name, storageClass } of volumes) {
    const obstacle = veleroObstacle(storageClass, classes)
    if (obstacle === undefined) continue
    const message = `Volume "${name}" cannot be backed up by Snapshot: ${obstacle} ${withoutSnapshots}`
    return { code: 'SNAPSHOT_CLASS_MISSING', message, volume: name }
  }
  return undefined
}

export type Backup = KubeObject & {
  spec?: { ttl?: string; snapshotMoveData?: boolean }
  status?: {
    phase?: string
    startTimestamp?: string
    completionTimestamp?: string
    expiration?: string
    errors?: number
    warnings?: number
    backupItemOperationsCompleted?: number
    failureReason?: string
    validationErrors?: readonly string[]
  }
}

const FAILED_PHASES: ReadonlySet<string> = new Set(['Failed', 'PartiallyFailed', 'FailedValidation'])
const isFinished = ({ status }: Backup) => status?.phase === 'Completed' || FAILED_PHASES.has(status?.phase ?? '')

/**
 * Whether it was to move snapshots, and moved none. Velero completes such a backup if it runs without its feature EnableCSI,
 * or if no volume was in use yet.
 */
function isEmpty({ spec, status }: Backup): boolean {
  const { phase, backupItemOperationsCompleted = 0 } = status ?? {}
  return phase === 'Completed' && spec?.snapshotMoveData === true && backupItemOperationsCompleted === 0
}

export function backupStartOf({ metadata, status }: Backup): string {
  return status?.startTimestamp ?? metadata.creationTimestamp ?? ''
}

/** Velero's default for backups without a ttl. */
const TTL_HOURS = 720

/** Returns when a backup expires. Until Velero has started it, that follows from the requested ttl, a Go duration. */
export function expiryOf(backup: Backup): string {
  const { spec, status } = backup
  if (status?.expiration !== undefined) return status.expiration
  const [, hours = TTL_HOURS, minutes = 0] = /^(\d+)h(?:(\d+)m)?/.exec(spec?.ttl ?? '') ?? []
  return timestamp(Date.parse(backupStartOf(backup)) + (Number(hours) * 60 + Number(minutes)) * 60_000)
}

export function sortBackupsNewestFirst(backups: readonly Backup[]): Backup[] {
  return [...backups].sort((one, other) => backupStartOf(other).localeCompare(backupStartOf(one)) || byName(one, other))
}
const byName = (one: Backup, other: Backup) => other.metadata.name.localeCompare(one.metadata.name)

/** Returns the phase that Velero reports; New until it reports one. */
export function phaseOf({ status }: Backup): string {
  return status?.phase ?? 'New'
}

/** Returns why a backup failed; undefined for all others. */
export function failureOf(backup: Backup): string | undefined {
  const { phase = '', errors = 0, warnings = 0 } = backup.status ?? {}
  if (isEmpty(backup)) return 'It contains no volume: none was in use, or Velero runs without its feature EnableCSI.'
  if (!FAILED_PHASES.has(phase)) return undefined
  if (phase === 'FailedValidation') return 'Velero refused the backup; an administrator can see why.'
  const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  return `It ended as ${phase} with ${counted(errors, 'error')} and ${counted(warnings, 'warning')}.`
}

/** Returns the newest backup that is over. */
export function findLastEndedBackup(backups: readonly Backup[]): Backup | undefined {
  return sortBackupsNewestFirst(backups).find(isFinished)
}

/** Maximum per resource, whatever its policy: Velero and the platform hold every backup in memory. */
export const BACKUPS_MAX = 500

/**
 * Returns the backups to delete: those older than the newest `keepLast` successful ones, and those beyond BACKUPS_MAX.
 * A failed backup never displaces a successful one, but is deleted in the end.
 */
export function listSurplusBackups(backups: readonly Backup[], keepLast: number | undefined): Backup[] {
  const finished = sortBackupsNewestFirst(backups).filter(isFinished)
  const completed = finished.flatMap((backup, at) => (failureOf(backup) === undefined ? [at] : []))
  const last = keepLast === undefined ? undefined : completed[keepLast - 1]
  return finished.filter((_, at) => (last !== undefined && at > last) || at >= BACKUPS_MAX)
}
