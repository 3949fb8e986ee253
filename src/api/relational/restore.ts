import { z } from 'zod'
import { recoveryWindowObstacle } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields, withRenamedFields } from '../../core/errors.ts'
import { RESTORE_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace, RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { objectKey } from '../../core/object.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { Bytes } from '../../crds/fields.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { requireActionBelow, resourceScope } from '../callers/visibility.ts'
import { type Answer, accepted } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { createViewBuilder, findGroup, locationOf } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import { withReservedQuota } from '../resources/quota.ts'
import { type Plan, planNotFound, planOf, requireOfferedPlan, unprocessable } from '../resources/sizing.ts'
import { checkNewName } from '../resources/writes.ts'
import { COLLECTION, type RelationalObject, relationalRecord } from './record.ts'
import { leastStorage, type SnapshotObject, snapshotState, snapshots } from './snapshots.ts'

const Name = z.string().max(52).regex(new RegExp(RESOURCE_NAME_PATTERN), 'must be a resource name')

export const RestoreSnapshotRequest = strictRecord('RestoreSnapshotRequest', {
  newName: z.string().min(1).max(64).describe('Of the new database: a restore never overwrites'),
  targetTime: DateTime.nullish().describe('Inside the recovery window; the end of the snapshot when absent'),
  resourceGroup: Name.nullish().describe('Where the new one is made; the same group when absent'),
  computePlan: Name.nullish(),
  storageSize: Bytes.nullish().describe('At least that of the source'),
  takeOverName: z
    .boolean()
    .nullish()
    .describe('Redirect connections from the old name to the new database, once ready'),
})
type Request = z.output<typeof RestoreSnapshotRequest>

export const RestoreResultDto = namedRecord('RestoreResultDto', {
  cluster: relationalRecord.dto,
  snapshotId: Uuid,
  targetTime: DateTime.nullable(),
})

/** Creates a database from a snapshot, or from a later moment of its recovery window. */
export async function restoreSnapshot(context: Context): Promise<Answer<z.input<typeof RestoreResultDto>>> {
  const { object: snapshot } = await snapshots.find(context)
  const request = context.body as Request
  const { services, caller } = context
  const from = locationOf(context, 'name')
  const group = request.resourceGroup ?? from.resourceGroup
  const location = { ...from, resourceGroup: group, name: request.newName }
  checkRestoredName(request.newName, services.reservedNames)
  await findGroup(context, from.boundaryId, group)
  const isElsewhere = group !== from.resourceGroup
  if (isElsewhere && snapshot.spec.method === 'Volume') throw boundToGroup(group)
  // The route checks the source only. A restore must not create what the caller may not create directly.
  await requireWrite(context, from.boundaryId, group, request.newName)
  if (request.takeOverName === true) {
    if (isElsewhere) throw invalidTakeOver()
    await requireWrite(context, from.boundaryId, from.resourceGroup, from.name)
  }
  if (snapshotState(snapshot) !== 'Completed')
    throw invalidState(snapshot, `Snapshot "${snapshot.spec.name}" is not completed.`)
  const sourceNamespace = groupNamespace(from.boundaryId, from.resourceGroup)
  const source = services.records.peek(RelationalCluster, { namespace: sourceNamespace, name: from.name })
  if (request.takeOverName === true && source === undefined && request.newName !== from.name) throw noneToTakeOver(from)
  const targetTime = checkTargetTime(request, snapshot, source, context)
  const spec = {
    ...sizesOf(request, snapshot, source, context),
    restoreFrom: {
      clusterName: from.name,
      ...(isElsewhere && { resourceGroup: from.resourceGroup }),
      snapshotId: snapshot.metadata.name,
      ...(targetTime !== null && { targetTime }),
    },
    ...(request.takeOverName === true && { takesOver: from.name }),
  }
  const { object } = await withReservedQuota(RelationalCluster, location, context, (reserve) =>
    services.records.create(RelationalCluster, {
      namespace: groupNamespace(from.boundaryId, group),
      name: request.newName,
      spec,
      reserve,
      caller,
      ...(isElsewhere && { annotations: { [RESTORE_ANNOTATION]: objectKey(sourceNamespace, snapshot.metadata.name) } }),
    }),
  )
  const cluster = relationalRecord.toDto(
    createViewBuilder<typeof RelationalCluster>(services, from.boundaryId)(object, group),
  )
  return accepted({ cluster, snapshotId: snapshot.metadata.name, targetTime }, { etag: etagOf(object) })
}

/** @throws PlatformError BAD_REQUEST */
function checkRestoredName(newName: string, reserved: ReadonlySet<string>): void {
  try {
    checkNewName(newName, reserved)
  } catch (error) {
    throw withRenamedFields(error, () => 'newName')
  }
}

/** The Services of a deleted database are gone, so there is nothing to redirect. */
function noneToTakeOver({ name }: { name: string }): PlatformError {
  const message = `Database "${name}" is gone, and its name with it: make the new one under that name.`
  return new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'takeOverName', value: true })
}

function invalidTakeOver(): PlatformError {
  return refusedFields([
    {
      field: 'takeOverName',
      message: 'cannot be combined with another resourceGroup: a name is taken over only in its group',
    },
  ])
}

/** VolumeSnapshots can be used in their own namespace only. */
function boundToGroup(group: string): PlatformError {
  const message =
    'A snapshot of volumes can be restored in its own group only. For another group, take one with method Object.'
  return unprocessable('FEATURE_UNSUPPORTED', 'resourceGroup', group, message)
}

/** @throws PlatformError FORBIDDEN */
async function requireWrite(context: Context, boundaryId: string, group: string, name: string): Promise<void> {
  await requireActionBelow(context, 'relationalcluster/write', resourceScope(boundaryId, group, COLLECTION, name))
}

/**
 * Requires a time after the end of the snapshot, in the recovery window of the database it was taken of: a recreated
 * database of the same name writes to a different archive.
 * @throws PlatformError OUTSIDE_RECOVERY_WINDOW
 */
function checkTargetTime(
  { targetTime }: Request,
  snapshot: SnapshotObject,
  source: RelationalObject | undefined,
  { services }: Context,
): string | null {
  if (targetTime === undefined || targetTime === null) return null
  const isSame = source?.status?.serverName !== undefined && source.status.serverName === snapshot.status?.serverName
  const { completedAt = '' } = snapshot.status ?? {}
  const now = timestamp(services.clock.now())
  const obstacle = recoveryWindowObstacle(targetTime, completedAt, isSame ? source?.status : undefined, now)
  if (obstacle === undefined) return targetTime
  const { message, ...range } = obstacle
  throw new PlatformError('OUTSIDE_RECOVERY_WINDOW', message, range)
}

/** Returns the sizes of the source, if it still exists, but at least the storage that the data needs. */
function sizesOf(
  request: Request,
  snapshot: SnapshotObject,
  source: RelationalObject | undefined,
  { services }: Context,
): object {
  const currentPlan = source?.spec.computePlan
  const id = request.computePlan ?? currentPlan
  const plan =
    id === undefined
      ? planOf(services, 'Relational', {})
      : requireOfferedPlan(services, 'Relational', { id, held: currentPlan })
  if (plan === undefined)
    throw planNotFound(services, 'Relational', '', 'No compute plan of family Relational is the default: name one.')
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = source?.spec ?? {}
  const { clusterId, storageClass, walStorageSize } = placeOf(snapshot, source)
  const keepsPlan = request.computePlan === undefined || request.computePlan === null
  return {
    ...(clusterId !== undefined && { clusterId }),
    computePlan: plan.metadata.name,
    ...(keepsPlan && { cpuRequest, cpuLimit, memoryRequest, memoryLimit }),
    storageClass,
    walStorageSize,
    storageSize: storageOf(request, snapshot, source, plan),
    replicas: keepsPlan ? (source?.spec.replicas ?? plan.spec.replicas) : plan.spec.replicas,
    ...(snapshot.status?.engineVersion !== undefined && { engineVersion: snapshot.status.engineVersion }),
    ...(snapshot.status?.databaseName !== undefined && { databaseName: snapshot.status.databaseName }),
    ...(snapshot.status?.ownerName !== undefined && { ownerName: snapshot.status.ownerName }),
    ...(source !== undefined && { parameters: source.spec.parameters, extensions: source.spec.extensions }),
  }
}

/** Snapshots of volumes are restored where they are, whatever became of the database. */
function placeOf({ spec, status }: SnapshotObject, source: RelationalObject | undefined) {
  if (spec.method !== 'Volume') return source?.spec ?? {}
  const { clusterId, storageClass, walStorageSize: needed } = status ?? {}
  const held = source?.spec.walStorageSize
  const keepsSize = needed !== undefined && held !== undefined && parseQuantity(held) >= parseQuantity(needed)
  return { clusterId, storageClass, walStorageSize: keepsSize ? held : needed }
}

/** @throws PlatformError STORAGE_CANNOT_SHRINK */
function storageOf(
  { storageSize }: Request,
  snapshot: SnapshotObject,
  source: RelationalObject | undefined,
  plan: Plan,
): string | undefined {
  const minimumBytes = leastStorage(snapshot)
  const needed = snapshot.status?.storageSize
  if (storageSize !== undefined && storageSize !== null) {
    if (parseQuantity(storageSize) >= minimumBytes) return storageSize
    const message = `The data needs ${needed}; ${storageSize} is less.`
    throw unprocessable('STORAGE_CANNOT_SHRINK', 'storageSize', storageSize, message)
  }
  const sourceSize = source?.spec.storageSize
  return parseQuantity(sourceSize ?? plan.spec.storageSize ?? '0') >= minimumBytes ? sourceSize : needed
}
