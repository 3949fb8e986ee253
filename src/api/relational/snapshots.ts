import { z } from 'zod'
import { databaseVolumesObstacle } from '../../contracts/backups.ts'
import { archiveEndOf, isBeingRestored, isLastBaseBackup } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { summarize } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { Description } from '../../crds/fields.ts'
import { ARCHIVING_STATES, RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot, SNAPSHOT_KINDS, SNAPSHOT_METHODS } from '../../crds/relationalSnapshots.ts'
import { type Answer, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import type { CollectionParent } from '../resources/collection/parents.ts'
import type { CreationResult } from '../resources/collection/types.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { findResource, locateResource, otherClusterOf } from '../resources/find.ts'
import { namedHolders, shownHolders } from '../resources/holders.ts'
import { invalidState } from '../resources/invalidState.ts'
import { ownerOfNamespace } from '../resources/namespaceOwner.ts'
import { dateTime, enumeration, number, text } from '../resources/paging.ts'
import { effectiveSizes, planOf, unprocessable } from '../resources/sizing.ts'
import { snapshotName } from '../resources/snapshotName.ts'
import { COLLECTION, isBackedUp, type RelationalObject } from './record.ts'

export type SnapshotObject = RecordOf<typeof RelationalSnapshot>

const SNAPSHOT_STATES = ['Pending', 'Running', 'Completed', 'Failed', 'Deleting'] as const
type SnapshotState = (typeof SNAPSHOT_STATES)[number]

const SnapshotDto = namedRecord('SnapshotDto', {
  id: Uuid,
  name: z.string(),
  description: z.string().nullable(),
  clusterName: z.string(),
  kind: z.enum(SNAPSHOT_KINDS),
  method: z.enum(SNAPSHOT_METHODS),
  status: z.enum(SNAPSHOT_STATES),
  statusMessage: z.string().nullable(),
  sizeBytes: z.int().nullable(),
  engineVersion: z.string().describe('Until it runs, the major version of the database; empty where that is gone'),
  startedAt: DateTime.nullable(),
  completedAt: DateTime.nullable(),
  expiresAt: DateTime.nullable(),
  createdBy: z.string().nullable(),
  createdAt: DateTime,
})

const CreateSnapshotRequest = strictRecord('CreateSnapshotRequest', {
  name: z.string().max(52).regex(new RegExp(RESOURCE_NAME_PATTERN), 'must be a resource name').nullish(),
  description: Description.nullish(),
  method: z.enum(SNAPSHOT_METHODS).nullish().describe('Volume needs a VolumeSnapshotClass'),
  retentionDays: z.int().min(1).max(3650).nullish().describe('Until it is deleted, when absent'),
})

const TimeRange = namedRecord('TimeRange', { from: DateTime, to: DateTime })

export const PitrWindowDto = namedRecord('PitrWindowDto', {
  isAvailable: z.boolean(),
  earliest: DateTime.nullable(),
  latest: DateTime.nullable(),
  lastBackupAt: DateTime.nullable(),
  lastArchivedAt: DateTime.nullable(),
  archiving: z.enum(ARCHIVING_STATES),
  gaps: z.array(TimeRange).describe('Times inside the window of which nothing can be restored'),
  reason: z.string().nullable(),
})
export type PitrWindow = z.output<typeof PitrWindowDto>

export function snapshotState({ status, metadata }: SnapshotObject): SnapshotState {
  if (metadata.deletionTimestamp !== undefined) return 'Deleting'
  if (status?.completedAt !== undefined) return 'Completed'
  const summary = summarize(status, false)
  if (summary.status === 'Failed' || summary.status === 'Degraded') return 'Failed'
  return summary.phase === 'BackingUp' ? 'Running' : 'Pending'
}

const isUnderWay = (snapshot: SnapshotObject) => ['Pending', 'Running'].includes(snapshotState(snapshot))

export function recoveryWindow({ status }: RelationalObject, services: Services): PitrWindow {
  const now = timestamp(services.clock.now())
  const archiving = status?.archiving ?? 'Disabled'
  const earliest = archiving === 'Disabled' ? null : (status?.firstRecoverableAt ?? null)
  const latest = archiveEndOf(status, now) ?? null
  const isAvailable = earliest !== null && latest !== null
  return {
    isAvailable,
    earliest,
    latest,
    lastBackupAt: status?.lastBackupAt ?? null,
    // While archiving works, the engine does not report when the last WAL file was archived.
    lastArchivedAt: status?.archivingStoppedAt ?? null,
    archiving,
    gaps: (status?.archivingGaps ?? []).map(({ from, to }) => ({ from, to: to ?? now })),
    reason: windowReason(archiving, isAvailable, status?.archivingMessage),
  }
}

function windowReason(archiving: PitrWindow['archiving'], isAvailable: boolean, message: string | undefined) {
  if (archiving === 'Disabled') return 'Nothing is backed up.'
  if (archiving === 'Failing') return message ?? 'The log cannot be archived.'
  if (archiving === 'Suspended') return 'The archive of the log is suspended.'
  return isAvailable ? null : 'There is no base backup yet.'
}

export async function readWindow(context: Context): Promise<Answer<PitrWindow>> {
  const { object } = await findResource(RelationalCluster, context)
  return ok(recoveryWindow(object, context.services))
}

function inUse(message: string, usedBy: { collection: string; resourceGroup: string; name: string }[]): PlatformError {
  return new PlatformError('IN_USE', message, { usedBy })
}

/** These include databases of other groups, which the caller may not be allowed to read. */
function restoredFrom(
  context: Remove,
  { spec }: SnapshotObject,
  restoring: readonly RelationalObject[],
): PlatformError {
  const { services, parameters } = context
  const holders = restoring.flatMap((object) => {
    const { resourceGroup = null } = ownerOfNamespace(services, object.metadata.namespace ?? '') ?? {}
    return resourceGroup === null ? [] : [{ kind: RelationalCluster, object, resourceGroup }]
  })
  const shown = shownHolders(context as Context, parameters.boundaryId ?? '', holders)
  const { usedBy, words } = namedHolders(shown, restoring.length)
  return inUse(`A restore from snapshot "${spec.name}" is running.${words}`, usedBy)
}

/** Returns the least storage that a database restored from it needs, in thousandths of a byte. */
export function leastStorage({ status }: SnapshotObject): bigint {
  return status?.storageSize === undefined ? 0n : parseQuantity(status.storageSize)
}

type SnapshotParent = CollectionParent & {
  readonly namespace: string
  readonly name: string
  readonly resourceGroup: string
  /** Absent if the database is gone; its snapshots may still exist. */
  readonly owner?: RelationalObject
}

/** @throws PlatformError NOT_FOUND if there is neither the database nor a snapshot of it */
async function parentOf(context: Context): Promise<SnapshotParent> {
  const { ref, location } = await locateResource(context, 'name')
  const { records } = context.services
  const { resourceGroup } = location
  const parent = { ...ref, resourceGroup, errorSuffix: ` of database "${ref.name}"` }
  const owner = await records.get(RelationalCluster, ref)
  if (owner !== undefined) return { ...parent, owner }
  const existing = await records.list(RelationalSnapshot, { namespace: ref.namespace }, { fresh: context.fresh })
  if (!existing.some(({ spec }) => spec.clusterName === ref.name)) await findResource(RelationalCluster, context)
  return parent
}

async function snapshotsOf(
  { services }: Context<string, unknown>,
  { namespace, name }: SnapshotParent,
  fresh: boolean,
) {
  const all = await services.records.list(RelationalSnapshot, { namespace }, { fresh })
  return all.filter(({ spec }) => spec.clusterName === name)
}

type Create = Context<string, unknown, z.output<typeof CreateSnapshotRequest>>

/**
 * The object name is derived from the database's incarnation and the snapshot's name, so that the API server accepts
 * only one of several concurrent requests. Within a replica, later ones see the running snapshot.
 * @throws PlatformError NOT_FOUND, BACKUP_TARGET_MISSING, SNAPSHOT_CLASS_MISSING, INVALID_STATE, SNAPSHOT_RUNNING,
 * ALREADY_EXISTS
 */
async function takeSnapshot(
  context: Create,
  parent: SnapshotParent,
): Promise<CreationResult<typeof RelationalSnapshot>> {
  const { services, caller, body } = context
  const { namespace, name: clusterName } = parent
  const { object: cluster } = await findResource(RelationalCluster, context as Context)
  if (!isBackedUp(cluster.spec, services.relational.hasBackupTarget) || !services.relational.hasBackupTarget) {
    throw new PlatformError(
      'BACKUP_TARGET_MISSING',
      `"${clusterName}" is not backed up, so the snapshot has nowhere to go.`,
    )
  }
  const method = body.method ?? 'Object'
  if (method === 'Volume') await requireSnapshotClass(cluster, services)
  if (!cluster.spec.running) throw invalidState(cluster, `"${clusterName}" is stopped: start it first.`)
  if (cluster.spec.archivingSuspended)
    throw invalidState(cluster, `The archive of "${clusterName}" is suspended: resume it first.`)
  const others = await snapshotsOf(context, parent, context.fresh)
  const running = others.find(isUnderWay)
  if (running !== undefined) throw snapshotInProgress(running)
  const names = others.map(({ spec }) => spec.name)
  const name = body.name ?? snapshotName(services.clock.now(), names)
  const alreadyExists = () =>
    new PlatformError('ALREADY_EXISTS', `Snapshot "${name}" of "${clusterName}" already exists.`)
  if (names.includes(name)) throw alreadyExists()
  const { description, retentionDays } = body
  const creation = await services.records.create(RelationalSnapshot, {
    namespace,
    name: snapshotId(cluster, name),
    caller,
    spec: { clusterName, name, description, method, retentionDays },
    isSame: () => true,
  })
  // With a generated name, it is the snapshot that a concurrent request has just started.
  if (!creation.isNew) throw body.name ? alreadyExists() : snapshotInProgress(creation.object)
  return creation
}

/** @throws PlatformError SNAPSHOT_CLASS_MISSING */
async function requireSnapshotClass({ spec, metadata }: RelationalObject, services: Services): Promise<void> {
  const { storageClass } = effectiveSizes(spec, planOf(services, 'Relational', spec))
  const classes = await services.backups.classes(otherClusterOf(services, spec.clusterId))
  const obstacle = databaseVolumesObstacle(metadata.name, storageClass ?? undefined, classes)
  if (obstacle !== undefined) throw unprocessable('SNAPSHOT_CLASS_MISSING', 'method', 'Volume', obstacle)
}

function snapshotInProgress({ spec, metadata }: SnapshotObject): PlatformError {
  const message = `Snapshot "${spec.name}" of "${spec.clusterName}" is being taken.`
  return new PlatformError('SNAPSHOT_RUNNING', message, { snapshotId: metadata.name })
}

function snapshotId({ metadata: { uid, annotations } }: RelationalObject, name: string): string {
  return uuidV5(['snapshot', annotations?.[INCARNATION_ANNOTATION] ?? uid, name].join('/'))
}

type Remove = Context<string, { force?: 'true' | 'false' | undefined }>

/**
 * Refuses what the controller would block without `forceDelete`. Returns whether If-Match has been checked.
 * @throws PlatformError IN_USE, LAST_RECOVERY_BASE
 */
async function refuseNeeded(context: Remove, snapshot: SnapshotObject, parent: SnapshotParent): Promise<boolean> {
  const { name: clusterName, resourceGroup } = parent
  const user = (name: string) => ({ name, collection: COLLECTION, resourceGroup })
  if (snapshotState(snapshot) === 'Running') {
    throw inUse(`Snapshot "${snapshot.spec.name}" is being taken.`, [user(clusterName)])
  }
  const restoring = context.services.records
    .peekAll(RelationalCluster)
    .filter((database) => isBeingRestored(database, snapshot))
  if (restoring.length > 0) throw restoredFrom(context, snapshot, restoring)
  const siblings = await snapshotsOf(context, parent, context.fresh)
  if (!isLastBaseBackup(snapshot, siblings, parent.owner?.status?.serverName)) return false
  if (context.query?.force !== 'true') {
    const message = `Snapshot "${snapshot.spec.name}" is the last base of the recovery window.`
    throw new PlatformError('LAST_RECOVERY_BASE', message)
  }
  const { caller, ifMatch, services } = context
  const change = ({ spec }: SnapshotObject) => ({ ...spec, forceDelete: true })
  await services.records.update(RelationalSnapshot, refOf(snapshot), { caller, ifMatch, change })
  return true
}

export const snapshots = collection(RelationalSnapshot, {
  path: `{RG}/${COLLECTION}/{name}/snapshots`,
  item: 'snapshotId',
  noun: 'Snapshot',
  parent: parentOf,
  includes: ({ spec }, { name }) => spec.clusterName === name,
  keyOf: 'name',
  may: {
    read: action('relationalcluster/read'),
    write: action('relationalcluster/createSnapshot'),
    delete: action('relationalcluster/deleteSnapshot'),
  },
  dto: SnapshotDto,
  toDto: (snapshot, { parent: { owner } }) => {
    const { status, metadata } = snapshot
    return {
      status: snapshotState(snapshot),
      statusMessage: summarize(status, metadata.deletionTimestamp !== undefined).statusMessage,
      // The engine does not report the size of a backup in the store.
      sizeBytes: status?.sizeBytes ?? null,
      engineVersion: status?.engineVersion ?? owner?.status?.engineVersion ?? owner?.spec.engineVersion ?? '',
    }
  },
  columns: {
    name: text('Name', { isSearched: true, isFiltered: false }),
    kind: enumeration('Kind', SNAPSHOT_KINDS, { isSorted: false }),
    status: enumeration('Status', SNAPSHOT_STATES, { isSorted: false }),
    createdAt: dateTime('Created'),
    sizeBytes: number('Size', { isFiltered: false }),
  },
  sort: '-createdAt',
  name: 'name',
  list: { summary: 'Snapshots, also of a database that is gone' },
  create: {
    summary: 'Take a snapshot',
    body: CreateSnapshotRequest,
    status: 202,
    lock: ({ namespace, name }) => ({
      key: `snapshots of ${namespace}/${name}`,
      sees: [{ kind: RelationalSnapshot, namespace }],
    }),
    make: takeSnapshot,
  },
  remove: {
    summary: 'Delete a snapshot',
    query: z.strictObject({
      force: z.enum(['true', 'false']).optional().describe('True deletes the last base of the recovery window too'),
    }),
    before: refuseNeeded,
  },
})
