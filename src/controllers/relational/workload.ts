import { ENGINE_SCHEDULE_LABEL, relationalNames } from '../../contracts/relational.ts'
import { objectId } from '../../core/ids.ts'
import { BACKUP_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { type RelationalInput, relationalChildren, relationalInput } from '../../desired/relational/index.ts'
import { service } from '../../kube/builtin.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import {
  barmanObjectStore,
  postgresqlBackup,
  postgresqlCluster,
  postgresqlDatabase,
  postgresqlPooler,
  postgresqlScheduledBackup,
} from '../../kube/postgresql.ts'
import { related } from '../engine/lookups.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import {
  backupsOf,
  type EngineBackup,
  type EngineCluster,
  observedEngine,
  type RelationalOptions,
  type RelationalPass,
  type RelationalStep,
} from './types.ts'
import { snapshotClassOf } from './volumeSnapshots.ts'

/** Children that depend on options of the spec; all others always exist. */
const PRUNED: readonly Resource[] = [
  service,
  postgresqlPooler,
  postgresqlScheduledBackup,
  postgresqlDatabase,
  barmanObjectStore,
]

/** Writes the children: the Cluster after the stores and Secrets that it refers to. */
export function applyChildren(options: Pick<RelationalOptions, 'backupTarget' | 'apiServer'>): RelationalStep {
  return async function applyChildren(pass: RelationalPass): Promise<Outcome> {
    const children = relationalChildren(inputOf(pass, options))
    const engine = children.findIndex(({ kind }) => kind === postgresqlCluster.kind)
    await writeChildren(pass, children.slice(0, engine))
    await changeImageFirst(pass, children[engine] as EngineCluster | undefined)
    const [cluster] = await writeChildren(pass, children.slice(engine))
    pass.state.engine = cluster as EngineCluster
    await pruneChildren(pass, children, PRUNED)
    return done()
  }
}

/** CloudNativePG rejects an update that changes the image together with other settings. */
async function changeImageFirst(pass: RelationalPass, wanted: EngineCluster | undefined): Promise<void> {
  const made = observedEngine(pass)
  if (made === undefined || wanted === undefined || made.spec.imageName === wanted.spec.imageName) return
  const { uid } = made.metadata
  const patch = { spec: { imageName: wanted.spec.imageName } }
  await pass.workloads.client.mergePatch(postgresqlCluster, refOf(made), patch, { uid })
}

function inputOf(
  pass: RelationalPass,
  { backupTarget, apiServer = [] }: Pick<RelationalOptions, 'backupTarget' | 'apiServer'>,
): RelationalInput {
  const { object, state } = pass
  return relationalInput({
    cluster: { ...object, spec: { ...object.spec, walStorageSize: state.walStorageSize } },
    plan: planOf(pass),
    maxConnections: state.maxConnections,
    instances: state.replicas,
    backup: state.backup,
    snapshotClass: wantedSnapshotClass(pass),
    origin: state.origin,
    target: backupTarget,
    apiServer,
    installedExtensions: installedExtensions(pass),
  })
}

/** Nothing changes in the Cluster until somebody asks for a snapshot of its volumes. */
function wantedSnapshotClass(pass: RelationalPass): string | undefined {
  const place = { ...refOfPass(pass), workloads: pass.workloads }
  const snapshots = related(pass.records.cache(RelationalSnapshot), 'parent', place.namespace, place.name)
  const isWanted = snapshots.some(({ spec }) => spec.method === 'Volume')
  return isWanted && observedEngine(pass) !== undefined ? snapshotClassOf(place)?.metadata.name : undefined
}

type Database = KubeObject & { spec: { extensions?: { name: string }[] } }

function installedExtensions(pass: RelationalPass): string[] {
  const { namespace, name } = refOfPass(pass)
  const found = pass.workloads.cache<Database>(postgresqlDatabase).get(namespace, relationalNames(name).cluster)
  return (found?.spec.extensions ?? []).map((extension) => extension.name)
}

/** Returns the id of the snapshot that mirrors a scheduled Backup. */
export function scheduledSnapshotId(backup: KubeObject): string {
  return objectId(postgresqlBackup, backup.metadata)
}

/** Creates a snapshot for each scheduled Backup, so that it can be listed, restored and deleted like any other. */
export async function mirrorBackups(pass: RelationalPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  for (const backup of backupsOf(pass.workloads, namespace, relationalNames(name).cluster)) {
    if (backup.metadata.labels?.[ENGINE_SCHEDULE_LABEL] === undefined) continue
    if (backup.metadata.deletionTimestamp !== undefined) continue
    const id = scheduledSnapshotId(backup)
    if (pass.records.cache(RelationalSnapshot).get(namespace, id) === undefined)
      await createSnapshotRecord(pass, backup, id)
  }
  return done()
}

async function createSnapshotRecord(pass: RelationalPass, backup: EngineBackup, id: string): Promise<void> {
  const { namespace = '', name } = pass.object.metadata
  const snapshot: KubeObject = {
    apiVersion: RelationalSnapshot.apiVersion,
    kind: RelationalSnapshot.kind,
    metadata: { name: id, namespace, annotations: { [BACKUP_ANNOTATION]: backup.metadata.name } },
    spec: {
      clusterName: name,
      name: `scheduled-${compactTimestamp(backup.metadata.creationTimestamp ?? '')}`,
      kind: 'Scheduled',
    },
  }
  await pass.records.client.create(RelationalSnapshot.resource, snapshot).catch(ignoreKubeAlreadyExists)
}

/** Formats an RFC 3339 time as `yyyymmddhhmmss`. */
export function compactTimestamp(time: string): string {
  return time.replace(/[^0-9]/g, '').slice(0, 14)
}

/** Whether a later database holds the name to take over: then that is somebody else's. */
export function isNameTaken({ object, records, kind }: Pick<RelationalPass, 'object' | 'records' | 'kind'>): boolean {
  const { namespace, creationTimestamp } = object.metadata
  const found = records.cache(kind.resource).get(namespace, object.spec.takesOver ?? '')
  // Only later seconds count: within the same second the order is unknown.
  return (found?.metadata.creationTimestamp ?? '') > (creationTimestamp ?? '')
}

/** Once this database holds the data, points the former database's connection Services here and stops the former. */
export async function takeOver(pass: RelationalPass): Promise<Outcome> {
  const { object, records } = pass
  const { takesOver } = object.spec
  if (takesOver === undefined || object.status?.tookOverAt !== undefined) return done()
  const former = records.cache(pass.kind.resource).get(object.metadata.namespace, takesOver)
  const isItself = takesOver === object.metadata.name
  if (former !== undefined && !isItself && !isNameTaken(pass) && former.metadata.deletionTimestamp === undefined) {
    const patch = { spec: { connectTo: object.metadata.name, running: false } }
    await records.client.mergePatch(pass.kind.resource, refOf(former), patch, { uid: former.metadata.uid })
  }
  pass.report({ tookOverAt: pass.now })
  return done()
}
