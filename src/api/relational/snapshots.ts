import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { summarize } from '../../core/conditions.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { ARCHIVING_STATES, RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot, SNAPSHOT_KINDS, SNAPSHOT_METHODS } from '../../crds/relationalSnapshots.ts'
import { type Answer, accepted, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findResource, locate } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { isBackedUp, type RelationalObject } from './record.ts'

export type SnapshotObject = RecordOf<typeof RelationalSnapshot>

const SNAPSHOT_STATES = ['Pending', 'Running', 'Completed', 'Failed', 'Deleting'] as const
type SnapshotState = (typeof SNAPSHOT_STATES)[number]

export const SnapshotDto = z
  .object({
    id: Uuid,
    name: z.string(),
    description: z.string().nullable(),
    clusterName: z.string(),
    kind: z.enum(SNAPSHOT_KINDS),
    method: z.enum(SNAPSHOT_METHODS),
    status: z.enum(SNAPSHOT_STATES),
    statusMessage: z.string().nullable(),
    sizeBytes: z.int().nullable(),
    engineVersion: z.string(),
    startedAt: DateTime.nullable(),
    completedAt: DateTime.nullable(),
    expiresAt: DateTime.nullable(),
    createdBy: z.string().nullable(),
    createdAt: DateTime,
  })
  .meta({ id: 'SnapshotDto' })

export const CreateSnapshotRequest = z
  .strictObject({
    name: z.string().max(52).regex(new RegExp(RESOURCE_NAME_PATTERN), 'must be a resource name').nullish(),
    description: z.string().max(512).nullish(),
    method: z.enum(SNAPSHOT_METHODS).nullish(),
    retentionDays: z.int().min(1).max(3650).nullish().describe('Until it is deleted, when absent'),
  })
  .meta({ id: 'CreateSnapshotRequest' })

const TimeRange = z.object({ from: DateTime, to: DateTime }).meta({ id: 'TimeRange' })

export const PitrWindowDto = z
  .object({
    isAvailable: z.boolean(),
    earliest: DateTime.nullable(),
    latest: DateTime.nullable(),
    lastBackupAt: DateTime.nullable(),
    lastArchivedAt: DateTime.nullable(),
    archiving: z.enum(ARCHIVING_STATES),
    gaps: z.array(TimeRange).describe('Times inside the window of which nothing can be restored'),
    reason: z.string().nullable(),
  })
  .meta({ id: 'PitrWindowDto' })
export type PitrWindow = z.output<typeof PitrWindowDto>

export function snapshotState({ status, metadata }: SnapshotObject): SnapshotState {
  if (metadata.deletionTimestamp !== undefined) return 'Deleting'
  if (status?.completedAt !== undefined) return 'Completed'
  const summary = summarize(status, false)
  if (summary.status === 'Failed' || summary.status === 'Degraded') return 'Failed'
  return summary.phase === 'BackingUp' ? 'Running' : 'Pending'
}

export function snapshotDto(snapshot: SnapshotObject): z.input<typeof SnapshotDto> {
  const { spec, status, metadata } = snapshot
  return {
    id: metadata.name,
    name: spec.name,
    description: spec.description ?? null,
    clusterName: spec.clusterName,
    kind: spec.kind,
    method: spec.method,
    status: snapshotState(snapshot),
    statusMessage: summarize(status, metadata.deletionTimestamp !== undefined).statusMessage,
    // The engine does not tell how much a backup takes in the store.
    sizeBytes: null,
    engineVersion: status?.engineVersion ?? '',
    startedAt: status?.startedAt ?? null,
    completedAt: status?.completedAt ?? null,
    expiresAt: status?.expiresAt ?? null,
    createdBy: metadata.annotations?.[CREATED_BY_ANNOTATION] ?? null,
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
  }
}

export const snapshotShape: ListShape<SnapshotObject> = {
  fields: {
    name: { title: 'Name', type: 'text', of: ({ spec }) => spec.name, isSearched: true, isFiltered: false },
    kind: { title: 'Kind', type: 'enumeration', values: SNAPSHOT_KINDS, of: ({ spec }) => spec.kind, isSorted: false },
    status: { title: 'Status', type: 'enumeration', values: SNAPSHOT_STATES, of: snapshotState, isSorted: false },
    createdAt: { title: 'Created', type: 'dateTime', of: ({ metadata }) => metadata.creationTimestamp },
    sizeBytes: { title: 'Size', type: 'number', of: () => null, isFiltered: false },
  },
  defaultSort: '-createdAt',
  nameOf: ({ spec }) => spec.name,
  idOf: ({ metadata }) => metadata.name,
}

/** Snapshots of a database, whether or not it is still there. */
export async function snapshotsOf(context: Context): Promise<readonly SnapshotObject[]> {
  const { ref } = await locate(context, 'name')
  const { records } = context.services
  const all = await records.list(RelationalSnapshot, { namespace: ref.namespace }, { fresh: context.fresh })
  return all.filter(({ spec }) => spec.clusterName === ref.name)
}

/** @throws PlatformError NOT_FOUND where neither the database is there nor any snapshot that was kept of it */
export async function listSnapshots(context: Context): Promise<Answer<never>> {
  const snapshots = await snapshotsOf(context)
  if (snapshots.length === 0) await findResource(RelationalCluster, context)
  return pagedParts(snapshots, context.list, snapshotShape, snapshotDto)
}

/** @throws PlatformError NOT_FOUND */
export async function findSnapshot(context: Context): Promise<SnapshotObject> {
  const id = context.parameters.snapshotId ?? ''
  const found = (await snapshotsOf(context)).find(({ metadata }) => metadata.name === id)
  if (found === undefined) throw notFound(`Snapshot "${id}" of database "${context.parameters.name}"`)
  return found
}

function invalidState(object: Pick<RelationalObject, 'metadata' | 'status'>, message: string): PlatformError {
  const { status, phase } = summarize(object.status, object.metadata.deletionTimestamp !== undefined)
  return new PlatformError('INVALID_STATE', message, { status, phase })
}

const isUnderWay = (snapshot: SnapshotObject) => ['Pending', 'Running'].includes(snapshotState(snapshot))

export async function createSnapshot(context: Context): Promise<Answer<z.input<typeof SnapshotDto>>> {
  const { object: cluster, ref } = await findResource(RelationalCluster, context)
  const { services, caller } = context
  const request = context.body as z.output<typeof CreateSnapshotRequest>
  refuseWhileDeleting(cluster)
  if (!isBackedUp(cluster.spec, services.relational.hasBackupTarget) || !services.relational.hasBackupTarget) {
    throw new PlatformError('BACKUP_TARGET_MISSING', `"${ref.name}" is not backed up, so there is no place to put it.`)
  }
  if (request.method === 'Volume') {
    const message = 'This platform has no class for snapshots of volumes; use method Object.'
    throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'method', value: 'Volume' })
  }
  if (!cluster.spec.running) throw invalidState(cluster, `"${ref.name}" is stopped: start it first.`)
  const others = await snapshotsOf(context)
  const running = others.find(isUnderWay)
  if (running !== undefined) {
    const message = `Snapshot "${running.spec.name}" of "${ref.name}" is being taken.`
    throw new PlatformError('SNAPSHOT_RUNNING', message, { snapshotId: running.metadata.name })
  }
  const now = timestamp(services.clock.now())
  const name = request.name ?? `manual-${now.replace(/[^0-9]/g, '').slice(0, 14)}`
  if (others.some(({ spec }) => spec.name === name)) {
    throw new PlatformError('ALREADY_EXISTS', `A snapshot of "${ref.name}" has the name "${name}".`)
  }
  const { object } = await services.records.create(RelationalSnapshot, {
    namespace: ref.namespace,
    name: randomUUID(),
    caller,
    spec: {
      clusterName: ref.name,
      name,
      description: request.description ?? undefined,
      retentionDays: request.retentionDays ?? undefined,
    },
  })
  return accepted(snapshotDto(object), { etag: etagOf(object) })
}

/** What can be restored of a database now. */
export function recoveryWindow({ status }: RelationalObject, services: Services): PitrWindow {
  const now = timestamp(services.clock.now())
  const archiving = status?.archiving ?? 'Disabled'
  const earliest = archiving === 'Disabled' ? null : (status?.firstRecoverableAt ?? null)
  const latest = earliest === null ? null : (status?.archivingStoppedAt ?? now)
  const isAvailable = earliest !== null && latest !== null && Date.parse(latest) >= Date.parse(earliest)
  return {
    isAvailable,
    earliest,
    latest,
    lastBackupAt: status?.lastBackupAt ?? null,
    // While the archive works the engine does not tell when the last file of the log went out.
    lastArchivedAt: status?.archivingStoppedAt ?? null,
    archiving,
    gaps: (status?.archivingGaps ?? []).map(({ from, to }) => ({ from, to: to ?? now })),
    reason: windowReason(archiving, isAvailable, status?.archivingMessage),
  }
}

function windowReason(archiving: PitrWindow['archiving'], isAvailable: boolean, said: string | undefined) {
  if (archiving === 'Disabled') return 'Nothing is backed up.'
  if (archiving === 'Failing') return said ?? 'The log cannot be archived.'
  if (archiving === 'Suspended') return 'The archive of the log is suspended.'
  return isAvailable ? null : 'There is no base backup yet.'
}

export async function readWindow(context: Context): Promise<Answer<PitrWindow>> {
  const { object } = await findResource(RelationalCluster, context)
  return ok(recoveryWindow(object, context.services))
}

/** @throws PlatformError IN_USE, LAST_RECOVERY_BASE, NOT_FOUND */
export async function deleteSnapshot(context: Context): Promise<Answer<never>> {
  const snapshot = await findSnapshot(context)
  const { services, caller, ifMatch } = context
  const { namespace, name: id } = snapshot.metadata
  if (snapshotState(snapshot) === 'Running') {
    const { clusterName: name } = snapshot.spec
    throw inUse(`Snapshot "${snapshot.spec.name}" is being taken.`, [{ name, ...placeOf(context) }])
  }
  const restoring = services.records
    .peekAll(RelationalCluster)
    .filter(({ spec, status }) => spec.restoreFrom?.snapshotId === id && status?.firstReadyAt === undefined)
  if (restoring.length > 0) {
    const users = restoring.map(({ metadata: { name } }) => ({ name, ...placeOf(context) }))
    throw inUse(`Snapshot "${snapshot.spec.name}" is being restored from.`, users)
  }
  const isForced = (context.query as { force?: string } | undefined)?.force === 'true'
  if (!isForced && (await isLastBase(context, snapshot))) {
    const message = `Snapshot "${snapshot.spec.name}" is the last one that the recovery window begins with.`
    throw new PlatformError('LAST_RECOVERY_BASE', message)
  }
  await services.records.remove(RelationalSnapshot, { namespace, name: id }, { caller, ifMatch })
  return noContent()
}

const placeOf = ({ parameters }: Context) => ({
  collection: 'relationalclusters',
  resourceGroup: parameters.resourceGroupName ?? parameters.resourceGroup ?? '',
})

function inUse(message: string, usedBy: { collection: string; resourceGroup: string; name: string }[]): PlatformError {
  return new PlatformError('IN_USE', message, { usedBy })
}

/** Whether nothing could be restored of a living database any more. */
async function isLastBase(context: Context, snapshot: SnapshotObject): Promise<boolean> {
  const { namespace } = snapshot.metadata
  const cluster = context.services.records.peek(RelationalCluster, { namespace, name: snapshot.spec.clusterName })
  if (cluster?.status?.serverName === undefined || snapshot.status?.serverName !== cluster.status.serverName)
    return false
  if (snapshotState(snapshot) !== 'Completed') return false
  const bases = (await snapshotsOf(context)).filter(
    (other) => snapshotState(other) === 'Completed' && other.status?.serverName === cluster.status?.serverName,
  )
  return bases.length === 1
}

/** What a database made from it needs at least, in thousandths of a byte. */
export function leastStorage({ status }: SnapshotObject): bigint {
  return status?.storageSize === undefined ? 0n : parseQuantity(status.storageSize)
}
