import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { QUOTA_COUNTED_KINDS, RESOURCE_KINDS } from '../../crds/index.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { groupsOfBoundary } from './find.ts'

/** A resource of any kind, or a part of one that quotas count, with its group. */
export type GroupResource = {
  readonly kind: AnyKind
  readonly object: RecordOf<AnyKind>
  readonly resourceGroup: string
}

export function resourcesOfGroup(services: Services, boundaryId: string, group: string): GroupResource[] {
  return objectsOf(RESOURCE_KINDS, services, boundaryId, group)
}

/** What quotas count: resources, and parts of them that run. */
export function countedInGroup(services: Services, boundaryId: string, group: string): GroupResource[] {
  return objectsOf(QUOTA_COUNTED_KINDS, services, boundaryId, group)
}

export function countedInBoundary(services: Services, boundaryId: string): GroupResource[] {
  return groupsOfBoundary(services, boundaryId).flatMap(({ name }) => countedInGroup(services, boundaryId, name))
}

export const isTopLevelResource = ({ kind }: GroupResource) => kind.isPart !== true

function objectsOf(kinds: readonly AnyKind[], services: Services, boundaryId: string, group: string): GroupResource[] {
  const namespace = groupNamespace(boundaryId, group)
  return kinds.flatMap((kind) =>
    services.records.peekAll(kind, { namespace }).map((object) => ({ kind, object, resourceGroup: group })),
  )
}

export function resourcesOfBoundary(services: Services, boundaryId: string): GroupResource[] {
  return groupsOfBoundary(services, boundaryId).flatMap(({ name }) => resourcesOfGroup(services, boundaryId, name))
}

/** Returns the resources of groups, from the API server if `fresh` is set. */
export async function readResources(
  services: Services,
  boundaryId: string,
  groups: readonly string[],
  fresh: boolean,
): Promise<GroupResource[]> {
  if (!fresh) return groups.flatMap((group) => resourcesOfGroup(services, boundaryId, group))
  const lists = await Promise.all(
    groups.flatMap((group) =>
      RESOURCE_KINDS.map(async (kind) => {
        const filter = { namespace: groupNamespace(boundaryId, group) }
        const objects = await services.records.list(kind, filter, { fresh })
        return objects.map((object) => ({ kind, object, resourceGroup: group }))
      }),
    ),
  )
  return lists.flat()
}
