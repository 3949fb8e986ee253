import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { FINALIZER, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../core/namespaces.ts'
import { pluralize } from '../../core/pluralize.ts'
import { expiredGrants, grantOf, groupGrantKey, isGroupGrant, unseenUsers } from '../../core/sizing/ledger.ts'
import { Tags } from '../../crds/fields.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { persistentVolumeClaim } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import { type BoundaryRecord, boundaryScope, requireActionBelow } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { mergePatch } from '../records/mergePatch.ts'
import { findBoundary, findGroup } from '../resources/find.ts'
import { mayReadNamed, namedHolders } from '../resources/holders.ts'
import { nowOf } from '../resources/nowOf.ts'
import { releaseQuotaOnRefusal, reserveQuota } from '../resources/quotaLedger.ts'
import { BoundaryQuotaBody } from '../resources/quotaRecord.ts'
import { checkNewName, refuseWhileDeleting, requireMatch, writablePart } from '../resources/writes.ts'
import { withIgnoredReadFields } from '../resources/writtenBody.ts'
import { listDeletionBlockers } from '../rules/protection.ts'
import { type GroupRecord, ResourceGroupDto } from './record.ts'

type GroupContext = Context<'boundaryId' | 'resourceGroupName'>

/**
 * Creates the group and the namespace of its resources.
 * @throws PlatformError BAD_REQUEST (name), NOT_FOUND (boundary), QUOTA_EXCEEDED, ALREADY_EXISTS, INVALID_STATE
 */
export async function createGroup(context: GroupContext): Promise<{ group: GroupRecord; isNew: boolean }> {
  const { services, caller, parameters, log } = context
  const { boundaryId, resourceGroupName: name } = parameters
  checkNewName(name, services.reservedNames)
  await requireMatch(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name }, context)
  const boundary = await findBoundary(context, boundaryId)
  refuseWhileDeleting(boundary)
  const create = () =>
    services.records.create(ResourceGroup, {
      namespace: boundaryNamespace(boundaryId),
      name,
      spec: {},
      caller,
      // Set at creation: a group deleted before its controller saw it would leave its namespace behind.
      finalizers: [FINALIZER],
    })
  const { object, isNew } = await withNamespaceOf(services, boundary, () => underGroupQuota(context, boundary, create))
  if (isNew || object.status?.namespace === undefined) {
    const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    try {
      await services.namespaces.ensure(groupNamespaceObject(boundaryId, name, incarnation))
    } catch (error) {
      // The group is stored, and the controller creates its namespace.
      log.warn({ boundaryId, group: name, reason: String(error) }, 'The namespace of a new group is late.')
    }
  }
  return { group: object, isNew }
}

const WRITABLE = strictRecord('PatchResourceGroupRequest', {
  tags: z.record(z.string(), Tags.valueType.nullable()).nullish(),
  quota: BoundaryQuotaBody.nullish(),
})
const shownNames = Object.keys(ResourceGroupDto.shape).filter((name) => !Object.hasOwn(WRITABLE.shape, name))

export const PatchResourceGroupRequest = withIgnoredReadFields(WRITABLE, ResourceGroupDto)

/**
 * Changes the tags and the quota of a group. A lower quota does not stop running resources.
 * @throws PlatformError FORBIDDEN (changed quota), NOT_FOUND, INVALID_STATE, BAD_REQUEST (differs from the path)
 */
export async function changeGroup(
  context: Context<'boundaryId' | 'resourceGroupName', unknown, z.output<typeof PatchResourceGroupRequest>>,
): Promise<GroupRecord> {
  const { services, caller, ifMatch, body, parameters } = context
  const { boundaryId, resourceGroupName: name } = parameters
  const patch = writablePart(body, { boundaryId, name, resourceGroup: name }, { shownNames })
  await findGroup(context, boundaryId, name)
  const change = async (stored: GroupRecord) => {
    refuseWhileDeleting(stored)
    const spec = mergePatch(stored.spec, patch) as GroupRecord['spec']
    // An unchanged quota needs no permission, so that a group can be sent back as read, as with kubectl.
    if (!isDeepStrictEqual(spec.quota ?? {}, stored.spec.quota))
      await requireActionBelow(context, 'boundaries/manage', boundaryScope(boundaryId))
    return spec
  }
  const ref = { namespace: boundaryNamespace(boundaryId), name }
  return (await services.records.update(ResourceGroup, ref, { caller, ifMatch, change })).object
}

/** A boundary just created with kubectl may not have its namespace yet: creates it and repeats the write. */
async function withNamespaceOf<Result>(
  services: Services,
  boundary: BoundaryRecord,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const isMissing = (thrown: unknown) => isKubeError(thrown, 'NotFound')
    if (!isMissing(error) && !isMissing((error as Error | undefined)?.cause)) throw error
    // Only the incarnation, which the controller sets first, tells whose namespace it would be.
    if (boundary.metadata.annotations?.[INCARNATION_ANNOTATION] === undefined) throw error
    await services.namespaces.ensure(boundaryNamespaceObject(boundary))
    return write()
  }
}

/** Reserves a place for the group in the ledger of its boundary, if the number of groups is limited. */
async function underGroupQuota<Result>(
  context: GroupContext,
  boundary: BoundaryRecord,
  create: () => Promise<Result>,
): Promise<Result> {
  const limit = boundary.spec.quota.resourceGroups
  if (limit === undefined) return create()
  const { services, parameters } = context
  const { boundaryId, resourceGroupName: name } = parameters
  const key = groupGrantKey(name)
  const reservation = await reserveQuota(context, boundaryId, (grants) => {
    const now = services.clock.now()
    const groups = services.records.peekAll(ResourceGroup, { namespace: boundaryNamespace(boundaryId) })
    const existingKeys = new Set(groups.map((group) => groupGrantKey(group.metadata.name)))
    if (existingKeys.has(key)) return {}
    const unseen = unseenUsers(grants, (one) => one === key || existingKeys.has(one) || !isGroupGrant(one), now)
    const used = existingKeys.size + unseen.length
    const expired = expiredGrants(grants, (one) => existingKeys.has(one) || !isGroupGrant(one), now)
    const removals = Object.fromEntries(expired.map((one) => [one, undefined]))
    if (used < limit) return { ...removals, [key]: grantOf(undefined, nowOf(context)) }
    const message = `Boundary "${boundaryId}" may have ${pluralize(limit, 'resource group')} and has ${used}.`
    throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'resourceGroups', limit, used, requested: 1 })
  })
  return releaseQuotaOnRefusal(context, boundaryId, reservation, create)
}

/** Deletes the group and, in dependency order, everything in it. @throws PlatformError DELETION_PROTECTED, NOT_FOUND */
export async function deleteGroup(context: GroupContext): Promise<{ isGone: boolean }> {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, resourceGroupName: name } = parameters
  const group = await findGroup(context, boundaryId, name)
  const isBeingDeleted = group.metadata.deletionTimestamp !== undefined
  const holders = isBeingDeleted ? [] : await listDeletionBlockers(services, boundaryId, group)
  if (holders.length > 0) {
    const shown = holders.filter((holder) => mayReadNamed(context, { boundaryId, resourceGroup: name }, holder))
    const { usedBy: resources, words } = namedHolders(shown, holders.length)
    const isVolume = (holder: string) => holder.startsWith(`${persistentVolumeClaim.plural}/`)
    const advice = resources.some(isVolume) ? ' A kept volume is deleted with a new resource of its name.' : ''
    const message = `Resource group "${name}" contains protected resources: remove the protection, or delete them first.${advice}${words}`
    throw new PlatformError('DELETION_PROTECTED', message, { resources })
  }
  const ref = { namespace: boundaryNamespace(boundaryId), name }
  return services.records.remove(ResourceGroup, ref, { caller, ifMatch })
}
