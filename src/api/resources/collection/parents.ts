import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../../core/names.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { type BoundaryRecord, findVisibleBoundary } from '../../callers/visibility.ts'
import type { Context } from '../../http/context.ts'
import type { RecordOf } from '../../records/records.ts'
import { findBoundary, findGroup, findResource } from '../find.ts'

/** What the objects of a collection belong to, as a path names it: the platform, a boundary, a group or a resource. */
export type CollectionParent = {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  /** The owner of an object created here: nothing is created in an owner that is being deleted. */
  readonly owner?: { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } }
  /** Follows the id in a 404: ` of boundary "..."`. */
  readonly errorSuffix: string
}

export const inCluster = (): CollectionParent => ({ errorSuffix: '' })

/** In the namespace of the platform itself. */
export const atPlatform = () => ({ namespace: SYSTEM_NAMESPACE, errorSuffix: '' })

export type BoundaryParent = CollectionParent & {
  readonly namespace: string
  readonly owner: BoundaryRecord
  readonly boundaryId: string
}

function boundaryParent(owner: BoundaryRecord): BoundaryParent {
  const boundaryId = owner.metadata.name
  return { namespace: boundaryNamespace(boundaryId), owner, boundaryId, errorSuffix: ` of boundary "${boundaryId}"` }
}

/** @throws PlatformError NOT_FOUND */
export async function inBoundary(context: Context): Promise<BoundaryParent> {
  return boundaryParent(await findBoundary(context, context.parameters.boundaryId ?? ''))
}

/** For routes that ask for a sign-in only. @throws PlatformError NOT_FOUND, also if the caller may not see the boundary */
export async function inVisibleBoundary(context: Context): Promise<BoundaryParent> {
  return boundaryParent(await findVisibleBoundary(context, context.parameters.boundaryId ?? ''))
}

export type GroupParent = CollectionParent & {
  readonly namespace: string
  readonly boundaryId: string
  readonly resourceGroup: string
}

/** @throws PlatformError NOT_FOUND */
export async function inGroup(context: Context): Promise<GroupParent> {
  const { boundaryId = '', resourceGroupName = '', resourceGroup: group = resourceGroupName } = context.parameters
  const owner = await findGroup(context, boundaryId, group)
  const namespace = groupNamespace(boundaryId, group)
  return { namespace, owner, boundaryId, resourceGroup: group, errorSuffix: ` in group "${group}"` }
}

export type ResourceParent<K extends AnyKind> = CollectionParent & {
  readonly namespace: string
  readonly owner: RecordOf<K>
}

/** In a resource of the group. @throws PlatformError NOT_FOUND */
export function inResource<K extends AnyKind>(kind: K, parameter: string, noun: string) {
  return async (context: Context): Promise<ResourceParent<K>> => {
    const { object, ref } = await findResource(kind, context, parameter)
    return { namespace: ref.namespace, owner: object, errorSuffix: ` of ${noun} "${ref.name}"` } as ResourceParent<K>
  }
}
