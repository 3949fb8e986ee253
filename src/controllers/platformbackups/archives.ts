import {
  type DatabaseCluster,
  findSuspension,
  hasResumed,
  isArchiving,
  SKIP_ARCHIVING_ANNOTATION,
} from '../../contracts/platformbackups/archives.ts'
import { isBackupInProgress, triggerOf } from '../../contracts/platformbackups/backups.ts'
import {
  PLATFORM_BACKUP_LABEL,
  RESUMED_ANNOTATION,
  SUSPENDED_ANNOTATION,
} from '../../contracts/platformbackups/names.ts'
import { relationalNames } from '../../contracts/relational.ts'
import { childName, SYSTEM_NAMESPACE, sha256 } from '../../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { SuspendedArchive } from '../../crds/platformBackups.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { baseBackup } from '../../desired/platformbackups.ts'
import { postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import type { Workspace } from '../engine/controller.ts'
import { platformBackupsOf, type SettingsPass } from './types.ts'

type Database = { cluster: DatabaseCluster; owner: KubeObject | undefined }

/**
 * Suspends the archives that the settings name, and resumes others. The write that suspends an archive also marks it,
 * so that it is resumed whatever happened to the settings or to this process meanwhile.
 */
export async function syncSuspendedArchives(pass: SettingsPass): Promise<Outcome> {
  await suspendArchives(pass, pass.object.spec.suspendedArchives)
  return done()
}

/** Whether any archive is suspended, or was and still waits for its base backup. */
export function hasSuspendedArchives(workspace: Workspace, suspended: readonly SuspendedArchive[]): boolean {
  return databasesOf({ workloads: workspace, records: workspace }).some(({ cluster, owner }) => {
    const annotated = owner ?? cluster
    const { annotations = {} } = annotated.metadata
    const isMarked = SUSPENDED_ANNOTATION in annotations || RESUMED_ANNOTATION in annotations
    return isMarked || findSuspension(suspended, cluster, annotated) !== undefined
  })
}

/** Resumes all archives of deleted settings, because nothing would do so later. */
export async function resumeArchives(pass: SettingsPass): Promise<Outcome> {
  await suspendArchives(pass, [])
  return done()
}

async function suspendArchives(pass: SettingsPass, suspended: readonly SuspendedArchive[]): Promise<void> {
  for (const database of databasesOf(pass)) {
    const annotated = database.owner ?? database.cluster
    const wanted = findSuspension(suspended, database.cluster, annotated)
    const { annotations = {} } = annotated.metadata
    if (wanted !== undefined) {
      if (annotations[SUSPENDED_ANNOTATION] === undefined) await suspend(pass, database, wanted)
    } else if (annotations[SUSPENDED_ANNOTATION] !== undefined) await resume(pass, database)
    else if (annotations[RESUMED_ANNOTATION] !== undefined) await closeGap(pass, database)
  }
}

/** Returns the CloudNativePG Clusters, each with the tenant's database it was made for, if any. */
function databasesOf({ workloads, records }: Pick<SettingsPass, 'workloads' | 'records'>): Database[] {
  const owners = new Map(
    ownersOf(records).map((owner) => [
      `${owner.metadata.namespace}/${relationalNames(owner.metadata.name).cluster}`,
      owner,
    ]),
  )
  const clusters = workloads.cache<DatabaseCluster>(postgresqlCluster).list()
  return clusters.map((cluster) => ({ cluster, owner: owners.get(keyOf(cluster)) }))
}

const ownersOf = (records: Workspace) => records.cache(RelationalCluster).list()

async function suspend(pass: SettingsPass, database: Database, wanted: SuspendedArchive): Promise<void> {
  const suspension = `${wanted.suspendedAt ?? pass.now} ${wanted.suspendedBy ?? ''}`.trim()
  await writeSuspension(pass, database, true, { [SUSPENDED_ANNOTATION]: suspension, [RESUMED_ANNOTATION]: null })
}

async function resume(pass: SettingsPass, database: Database): Promise<void> {
  const suspension = (database.owner ?? database.cluster).metadata.annotations?.[SUSPENDED_ANNOTATION] ?? null
  await writeSuspension(pass, database, false, { [SUSPENDED_ANNOTATION]: null, [RESUMED_ANNOTATION]: suspension })
}

type AnnotationPatch = Record<string, string | null>

/** Sets suspension and marks; for a tenant's database in its spec, whose controller also records the gap. */
async function writeSuspension(
  pass: SettingsPass,
  { cluster, owner }: Database,
  suspended: boolean,
  suspensionAnnotations: AnnotationPatch,
): Promise<void> {
  const { resourceVersion, uid } = (owner ?? cluster).metadata
  const options = { resourceVersion, uid }
  if (owner !== undefined) {
    const patch = { metadata: { annotations: suspensionAnnotations }, spec: { archivingSuspended: suspended } }
    await pass.records.client.mergePatch(RelationalCluster.resource, refOf(owner), patch, options)
    return
  }
  const annotations = { ...suspensionAnnotations, [SKIP_ARCHIVING_ANNOTATION]: suspended ? 'enabled' : null }
  await pass.workloads.client.mergePatch(postgresqlCluster, refOf(cluster), { metadata: { annotations } }, options)
}

/** Takes a base backup after an archive was resumed, because nothing can be restored across the hole in its WAL. */
async function closeGap(pass: SettingsPass, { cluster, owner }: Database): Promise<void> {
  if (!hasResumed(cluster)) return
  const annotated = owner ?? cluster
  const suspension = annotated.metadata.annotations?.[RESUMED_ANNOTATION] ?? ''
  const name = childName('resumed', cluster.metadata.name, sha256(suspension).slice(0, 10))
  await pass.children.create(baseBackup(cluster, name, {}), { resource: postgresqlBackup })
  const patch = { metadata: { annotations: { [RESUMED_ANNOTATION]: null } } }
  const { resourceVersion, uid } = annotated.metadata
  const client = owner === undefined ? pass.workloads.client : pass.records.client
  const resource = owner === undefined ? postgresqlCluster : RelationalCluster.resource
  await client.mergePatch(resource, refOf(annotated), patch, { resourceVersion, uid })
}

/** Adds a base backup of each of the platform's own databases to a requested backup. */
export async function backUpDatabases(pass: SettingsPass): Promise<Outcome> {
  const requested = platformBackupsOf(pass).filter((one) => triggerOf(one) !== 'Scheduled' && isBackupInProgress(one))
  if (requested.length === 0) return done()
  const clusters = pass.workloads.cache<DatabaseCluster>(postgresqlCluster).list({ namespace: SYSTEM_NAMESPACE })
  for (const cluster of clusters.filter(isArchiving))
    for (const { metadata } of requested) {
      const name = childName('pbackup', cluster.metadata.name, sha256(metadata.name).slice(0, 10))
      const backup = baseBackup(cluster, name, { [PLATFORM_BACKUP_LABEL]: metadata.name.slice(0, 63) })
      if ((await pass.children.get(postgresqlBackup, SYSTEM_NAMESPACE, name)) === undefined)
        await pass.children.create(backup, { resource: postgresqlBackup })
    }
  return done()
}

/** Whether a change of a database may matter: it is, was or must be suspended. */
export function concernsArchives(object: KubeObject, suspended: readonly SuspendedArchive[]): boolean {
  const { annotations = {} } = object.metadata
  const isMarked = annotations[SUSPENDED_ANNOTATION] !== undefined || annotations[RESUMED_ANNOTATION] !== undefined
  return isMarked || suspended.some(({ namespace }) => namespace === object.metadata.namespace)
}
