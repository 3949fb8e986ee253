import { createdAtOf, type KubeObject } from '../../core/object.ts'
import { RESUMED_ANNOTATION, SUSPENDED_ANNOTATION } from './names.ts'

/** State of archiving of a database's log, for the platform's administrators: does it fill a disk, who suspended it. */

export const ARCHIVE_STATES = ['NotConfigured', 'Healthy', 'Pressure', 'Suspended', 'ResumePending'] as const
export type ArchiveState = (typeof ARCHIVE_STATES)[number]

/** CloudNativePG archives no log while this annotation is there (its page on labels and annotations). */
export const SKIP_ARCHIVING_ANNOTATION = 'cnpg.io/skipWalArchiving'

/** A CloudNativePG Cluster, as far as its archive is concerned. */
export type DatabaseCluster = KubeObject & {
  spec?: {
    plugins?: readonly { isWALArchiver?: boolean; enabled?: boolean; parameters?: Readonly<Record<string, string>> }[]
    backup?: { barmanObjectStore?: object }
  }
  status?: {
    conditions?: readonly { type: string; status: string; message?: string; lastTransitionTime?: string }[]
  }
}

/** The ObjectStore of the plugin that archives the Cluster. */
export type ArchiveStore = KubeObject & {
  status?: {
    serverRecoveryWindow?: Readonly<
      Record<string, { firstRecoverabilityPoint?: string; lastSuccessfulBackupTime?: string }>
    >
  }
}

/** Measurements of a database's log; undefined if nothing measures it. */
export type WalStatistics = {
  /** Files that wait to be archived. */
  readyCount: number | undefined
  /** How much of its volume the log fills, 0 to 100. */
  volumePercent: number | undefined
}

const READY_FILES_MAX = 100
const VOLUME_PERCENT_MAX = 70

export function archiverOf({ spec }: DatabaseCluster) {
  return spec?.plugins?.find(({ isWALArchiver, enabled }) => isWALArchiver === true && enabled !== false)
}

export function isArchiving(cluster: DatabaseCluster): boolean {
  return archiverOf(cluster) !== undefined || cluster.spec?.backup?.barmanObjectStore !== undefined
}

/**
 * Returns the suspension in the list that means this very database. A database that was created later only has the same
 * name; one that was restored later still has its mark.
 *
 * @param marked the object with the marks of a suspension of the Cluster
 */
export function findSuspension<
  Suspension extends { namespace: string; name: string; suspendedAt?: string | undefined },
>(
  list: readonly Suspension[],
  cluster: Pick<KubeObject, 'metadata'>,
  marked: Pick<KubeObject, 'metadata'>,
): Suspension | undefined {
  const [suspensionTime] = marked.metadata.annotations?.[SUSPENDED_ANNOTATION]?.split(' ') ?? []
  const isOfThisLife = (suspendedAt: string | undefined) =>
    suspendedAt === undefined ||
    suspendedAt === suspensionTime ||
    !(Date.parse(createdAtOf(marked.metadata)) > Date.parse(suspendedAt))
  return list.find(
    ({ namespace, name, suspendedAt }) =>
      namespace === cluster.metadata.namespace && name === cluster.metadata.name && isOfThisLife(suspendedAt),
  )
}

/**
 * Returns the state of a suspension by its marks, which are on the Cluster itself or on its RelationalCluster.
 *
 * @param wanted whether the settings name the database now
 */
export function suspensionStateOf(
  marked: Pick<KubeObject, 'metadata'>,
  wanted: boolean,
): 'Suspended' | 'ResumePending' | undefined {
  if (wanted) return 'Suspended'
  const { annotations = {} } = marked.metadata
  const isMarked = annotations[SUSPENDED_ANNOTATION] !== undefined || annotations[RESUMED_ANNOTATION] !== undefined
  return isMarked ? 'ResumePending' : undefined
}

/**
 * Whether the log of a database that cannot be archived fills its disk: the engine says that archiving fails, and many
 * files wait or the volume is nearly full. If nothing measures them, the failure alone counts: waiting for statistics
 * that never come would let the disk fill.
 */
export function isUnderPressure(cluster: DatabaseCluster, statistics: WalStatistics | undefined): boolean {
  const { readyCount, volumePercent } = statistics ?? {}
  if (condition(cluster)?.status !== 'False') return false
  if (readyCount === undefined && volumePercent === undefined) return true
  return (readyCount ?? 0) >= READY_FILES_MAX || (volumePercent ?? 0) >= VOLUME_PERCENT_MAX
}

const condition = ({ status }: DatabaseCluster) =>
  status?.conditions?.find(({ type }) => type === 'ContinuousArchiving')

export type Archive = {
  state: ArchiveState
  /** Since when nothing is archived, if the engine reports it; RFC 3339. */
  lastArchivedAt: string | undefined
  message: string | undefined
}

export function archiveOf(
  cluster: DatabaseCluster,
  suspension: 'Suspended' | 'ResumePending' | undefined,
  statistics: WalStatistics | undefined,
): Archive {
  const failing = condition(cluster)?.status === 'False' ? condition(cluster) : undefined
  const details = { lastArchivedAt: failing?.lastTransitionTime, message: failing?.message }
  if (suspension !== undefined) return { ...details, state: suspension }
  // Suspended by its owner, who must resume it.
  if (skipsArchiving(cluster)) return { ...details, state: 'Suspended' }
  if (!isArchiving(cluster)) return { state: 'NotConfigured', lastArchivedAt: undefined, message: undefined }
  return { ...details, state: isUnderPressure(cluster, statistics) ? 'Pressure' : 'Healthy' }
}

/** Whether the engine archives again: it was told to, and reports no failure. */
export function hasResumed(cluster: DatabaseCluster): boolean {
  return !skipsArchiving(cluster) && condition(cluster)?.status === 'True'
}

export function skipsArchiving({ metadata }: Pick<DatabaseCluster, 'metadata'>): boolean {
  return metadata.annotations?.[SKIP_ARCHIVING_ANNOTATION] === 'enabled'
}

/** Returns the range of time to which a database can be restored, as the store of its archive reports it. */
export function recoveryWindowOf(cluster: DatabaseCluster, stores: readonly ArchiveStore[]) {
  const { barmanObjectName, serverName = cluster.metadata.name } = archiverOf(cluster)?.parameters ?? {}
  const { namespace } = cluster.metadata
  const store = stores.find(({ metadata }) => metadata.name === barmanObjectName && metadata.namespace === namespace)
  return store?.status?.serverRecoveryWindow?.[serverName]
}
