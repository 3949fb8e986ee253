import { boundaryNamespace } from '../core/names.ts'
import { type KubeObject, keyOf, refOfKey } from '../core/object.ts'
import type { AnyKind } from '../crds/define.ts'
import { kubectlName } from '../crds/kubectlName.ts'
import type { BoundaryProjection } from '../crds/projections.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { claimHolderName, isRetainedClaim, RETENTION_DEPENDENT_KINDS, requiresRetention } from '../crds/retention.ts'
import { namespace } from '../kube/builtin.ts'
import type { Workspace } from './engine/controller.ts'
import { ownerKeyOf } from './engine/ownership.ts'

/** Which resource groups a change of another object concerns. */

/** Returns the groups that were refused for their number: only these depend on the boundary and their siblings. */
function refusedGroups(boundaryId: string, records: Workspace): string[] {
  return records
    .cache(ResourceGroup)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .filter((group) => group.status?.phase === 'QuotaExceeded')
    .map(keyOf)
}

export function refusedGroupsOfBoundary(boundary: KubeObject, records: Workspace): string[] {
  return refusedGroups(boundary.metadata.name, records)
}

export function refusedSiblings(group: KubeObject, records: Workspace): string[] {
  const prefix = boundaryNamespace('')
  return refusedGroups((group.metadata.namespace ?? '').slice(prefix.length), records)
}

/** Wakes the group while it is being deleted, or if the object changes what holds it. */
export function concernedGroup(kind: AnyKind) {
  return (object: KubeObject, records: Workspace): string[] => {
    const { namespace: namespaceName, name } = object.metadata
    const group = groupOf(namespaceName, records)
    if (group === undefined) return []
    if (group.metadata.deletionTimestamp !== undefined || RETENTION_DEPENDENT_KINDS.has(kind)) return [keyOf(group)]
    const now = records.cache(kind.resource).get(namespaceName, name)
    const isHolder = now !== undefined && requiresRetention(kind, now)
    return isHolder === reportsHolder(group, kubectlName(kind, name)) ? [] : [keyOf(group)]
  }
}

export function groupOfClaim(claim: KubeObject, records: Workspace): string[] {
  const { namespace: namespaceName, name } = claim.metadata
  const group = groupOf(namespaceName, records)
  return group !== undefined && (isRetainedClaim(claim) || reportsHolder(group, claimHolderName(name)))
    ? [keyOf(group)]
    : []
}

type Projection = KubeObject & Pick<BoundaryProjection, 'status'>

const homesOf = (projection: KubeObject) => (projection as Projection).status?.resolvedNamespaces ?? []

export function volumesOf(projection: KubeObject): unknown {
  return homesOf(projection).map(({ namespace: namespaceName, retainedVolumes }) => [namespaceName, retainedVolumes])
}

/** Returns the groups with retained volumes on another cluster, and those that still report some. */
export function groupsElsewhere(projection: KubeObject, records: Workspace): string[] {
  const { namespace: boundaryNamespaceName, name } = projection.metadata
  const withVolumes = homesOf(projection).filter(({ retainedVolumes = [] }) => retainedVolumes.length > 0)
  const groups = records.cache(ResourceGroup).list({ namespace: boundaryNamespaceName })
  return groups
    .filter(
      ({ status }) =>
        withVolumes.some((resolved) => resolved.namespace === status?.namespace) ||
        status?.heldBy?.some((holder) => holder.startsWith(claimHolderName(`${name}/`))) === true,
    )
    .map(keyOf)
}

function reportsHolder({ status }: ResourceGroup, holder: string): boolean {
  return status?.heldBy?.includes(holder) === true
}

function groupOf(namespaceName: string | undefined, records: Workspace): (ResourceGroup & KubeObject) | undefined {
  const place = records.cache(namespace).get(undefined, namespaceName ?? '')
  const key = place === undefined ? undefined : ownerKeyOf(place, ResourceGroup.resource)
  if (key === undefined) return undefined
  const { namespace: boundaryNamespaceName, name } = refOfKey(key)
  return records.cache(ResourceGroup).get(boundaryNamespaceName, name)
}
