import { PlatformError } from '../../core/errors.ts'
import { FINALIZER, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../core/namespaces.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { BoundaryRecord } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { resourcesOfGroup } from '../resources/contents.ts'
import { findBoundary, findGroup } from '../resources/places.ts'
import { checkNewName, refuseWhileDeleting } from '../resources/writes.ts'
import { isProtected } from '../rules/protection.ts'
import type { GroupRecord } from './record.ts'

type GroupContext = Context<'boundaryId' | 'resourceGroupName'>

/**
 * Makes the group and the namespace of its resources.
 *
 * @throws PlatformError BAD_REQUEST (name), NOT_FOUND (boundary), QUOTA_EXCEEDED, ALREADY_EXISTS, INVALID_STATE
 */
export async function createGroup(context: GroupContext): Promise<{ group: GroupRecord; isNew: boolean }> {
  const { services, caller, parameters, log } = context
  const { boundaryId, resourceGroupName: name } = parameters
  checkNewName(name, services.reservedNames)
  const boundary = await findBoundary(context, boundaryId)
  refuseWhileDeleting(boundary)
  refuseOverQuota(services, boundary, name)
  const create = () =>
    services.records.create(ResourceGroup, {
      namespace: boundaryNamespace(boundaryId),
      name,
      spec: {},
      caller,
      // From the first moment: a group deleted before its controller saw it would leave its namespace behind.
      finalizers: [FINALIZER],
    })
  const { object, isNew } = await withNamespaceOf(services, boundary, create)
  if (isNew || object.status?.namespace === undefined) {
    const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    try {
      await services.namespaces.ensure(groupNamespaceObject(boundaryId, name, incarnation))
    } catch (error) {
      // The group is stored; the controller makes its namespace.
      log.warn({ boundaryId, group: name, reason: String(error) }, 'The namespace of a new group is late.')
    }
  }
  return { group: object, isNew }
}

/** A boundary made with kubectl a moment ago may lack its namespace: it is made here, and the write done once more. */
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
    await services.namespaces.ensure(boundaryNamespaceObject(boundary))
    return write()
  }
}

function refuseOverQuota({ records }: Services, boundary: BoundaryRecord, name: string): void {
  const limit = boundary.spec.quota.resourceGroups
  if (limit === undefined) return
  const groups = records.peekAll(ResourceGroup, { namespace: boundaryNamespace(boundary.metadata.name) })
  if (groups.length < limit || groups.some((group) => group.metadata.name === name)) return
  const message = `Boundary "${boundary.metadata.name}" may have ${limit} resource groups and has ${groups.length}.`
  throw new PlatformError('QUOTA_EXCEEDED', message, {
    quota: 'resourceGroups',
    limit,
    used: groups.length,
    requested: 1,
  })
}

/** Deletes the group and, in dependency order, everything in it. @throws PlatformError DELETION_PROTECTED, NOT_FOUND */
export async function deleteGroup(context: GroupContext): Promise<{ isGone: boolean }> {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, resourceGroupName: name } = parameters
  const group = await findGroup(context, boundaryId, name)
  const held = resourcesOfGroup(services, boundaryId, name).filter(({ object }) => isProtected(services, object))
  if (held.length > 0 && group.metadata.deletionTimestamp === undefined) {
    const resources = held.map(({ kind, object }) => `${kind.segment}/${object.metadata.name}`).sort()
    const message = `Resource group "${name}" holds ${held.length} resources whose data is to be kept.`
    throw new PlatformError('DELETION_PROTECTED', message, { resources })
  }
  const ref = { namespace: boundaryNamespace(boundaryId), name }
  return services.records.remove(ResourceGroup, ref, { caller, ifMatch })
}
