import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../../core/names.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { type BoundaryRecord, findVisibleBoundary } from '../../callers/visibility.ts'
import type { Context } from '../../http/context.ts'
import type { RecordOf } from '../../records/records.ts'
import { findBoundary, findGroup, findResource } from '../places.ts'

/** The place of the objects of a collection, as a path names it. */
export type Home = {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  /** The owner of an object created here: nothing is created in an owner that is being deleted. */
  readonly owner?: { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } }
  /** Follows the id in a 404: ` of boundary "..."`. */
  readonly words: string
}

export const inCluster = (): Home => ({ words: '' })

/** In the namespace of the platform itself. */
export const atPlatform = () => ({ namespace: SYSTEM_NAMESPACE, words: '' })

export type BoundaryHome = Home & {
  readonly namespace: string
  readonly owner: BoundaryRecord
  readonly boundaryId: string
}

function boundaryHome(owner: BoundaryRecord): BoundaryHome {
  const boundaryId = owner.metadata.name
  return { namespace: boundaryNamespace(boundaryId), owner, boundaryId, words: ` of boundary "${boundaryId}"` }
}

/** @throws PlatformError NOT_FOUND */
export async function inBoundary(context: Context): Promise<BoundaryHome> {
  return boundaryHome(await findBoundary(context, context.parameters.boundaryId ?? ''))
}

/** For routes that ask for a sign-in only. @throws PlatformError NOT_FOUND, also if the caller may not see the boundary */
export async function inVisibleBoundary(context: Context): Promise<BoundaryHome> {
  return boundaryHome(await findVisibleBoundary(context, context.parameters.boundaryId ?? ''))
}

export type GroupHome = Home & {
  readonly namespace: string
  readonly boundaryId: string
  readonly resourceGroup: string
}

/** @throws PlatformError NOT_FOUND */
export async function inGroup(context: Context): Promise<GroupHome> {
  const { boundaryId = '', resourceGroupName = '', resourceGroup: group = resourceGroupName } = context.parameters
  const owner = await findGroup(context, boundaryId, group)
  const namespace = groupNamespace(boundaryId, group)
  return { namespace, owner, boundaryId, resourceGroup: group, words: ` in group "${group}"` }
}

export type ParentHome<K extends AnyKind> = Home & { readonly namespace: string; readonly owner: RecordOf<K> }

/** In another resource of the group. @throws PlatformError NOT_FOUND */
export function inParent<K extends AnyKind>(kind: K, parameter: string, noun: string) {
  return async (context: Context): Promise<ParentHome<K>> => {
    const { object, ref } = await findResource(kind, context, parameter)
    return { namespace: ref.namespace, owner: object, words: ` of ${noun} "${ref.name}"` } as ParentHome<K>
  }
}
