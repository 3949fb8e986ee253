import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { parseScope } from '../core/scope.ts'
import type { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { scopeIncarnationOf } from '../crds/scopeObjects.ts'

const RBAC_GROUP = 'rbac.authorization.k8s.io'

export type ProjectionInput = {
  boundary: KubeObject
  /** The group whose namespace gets bindings; absent for the boundary's own namespace. */
  group?: KubeObject | undefined
  /** Assignments from the boundary's namespace and freehold-system. */
  assignments: readonly RoleAssignment[]
  groups: readonly PrincipalGroup[]
  /** ClusterRoles by display name of the role, for the roles that can be projected. */
  clusterRoles: ReadonlyMap<string, string>
  /** Milliseconds since the epoch. */
  now: number
}

export type Projection = { bindings: KubeObject[] /** When the next assignment ends. */; nextEnd: number | undefined }

/**
 * Returns the RoleBindings of a namespace: one per role, with every principal that holds it by an assignment at this
 * scope or above. Groups are expanded, because tokens do not carry them. Assignments on single resources are skipped,
 * because a binding applies to the whole namespace.
 */
export function projectedBindings(input: ProjectionInput): Projection {
  const { boundary, group, now, clusterRoles } = input
  const holders = new Map<string, Set<string>>()
  const expiries: number[] = []
  for (const assignment of input.assignments) {
    const clusterRole = clusterRoles.get(assignment.spec.roleDefinitionName)
    const expiry = assignment.spec.expiresAt === undefined ? Infinity : Date.parse(assignment.spec.expiresAt)
    if (clusterRole === undefined || !(now < expiry) || !appliesTo(assignment, boundary, group)) continue
    expiries.push(expiry)
    const set = holders.get(clusterRole) ?? new Set()
    for (const principal of principalsOf(assignment, input.groups)) set.add(principal)
    holders.set(clusterRole, set)
  }
  const id = boundary.metadata.name
  const namespace = group === undefined ? boundaryNamespace(id) : groupNamespace(id, group.metadata.name)
  const held = [...holders].filter(([, principals]) => principals.size > 0)
  const first = Math.min(...expiries)
  return {
    bindings: held.map(([clusterRole, principals]) => roleBinding(namespace, clusterRole, [...principals].sort())),
    nextEnd: Number.isFinite(first) ? first : undefined,
  }
}

function roleBinding(namespace: string, clusterRole: string, principals: readonly string[]): KubeObject {
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: { name: clusterRole, namespace },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: clusterRole },
    subjects: principals.map((id) => ({ kind: 'User', apiGroup: RBAC_GROUP, name: `p:${id}` })),
  }
}

/** Whether an assignment is in the right namespace, of this incarnation of its scope, and for the whole namespace. */
function appliesTo(assignment: RoleAssignment, boundary: KubeObject, group: KubeObject | undefined): boolean {
  const { metadata, spec } = assignment
  const scope = parseScope(spec.scope)
  if (scope === undefined || scope.level === 'resource') return false
  if (scope.level === 'root') return metadata.namespace === SYSTEM_NAMESPACE
  const id = boundary.metadata.name
  if (scope.boundaryId !== id || metadata.namespace !== boundaryNamespace(id)) return false
  if (scope.level === 'boundary') return isOfIncarnation(assignment, boundary)
  return group?.metadata.name === scope.resourceGroup && isOfIncarnation(assignment, group)
}

function isOfIncarnation(assignment: RoleAssignment, object: KubeObject): boolean {
  const incarnation = scopeIncarnationOf(assignment)
  return incarnation !== undefined && incarnation === object.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** Expands groups. A boundary's group counts within that boundary, a platform group everywhere. */
function principalsOf({ metadata, spec }: RoleAssignment, groups: readonly PrincipalGroup[]): Set<string> {
  if (spec.principalType !== 'Group') return new Set([spec.principalId])
  const principals = new Set<string>()
  const seen = new Set<PrincipalGroup>()
  const groupsNamed = (id: string, namespace: string | undefined) =>
    groups.filter(
      (group) =>
        group.metadata.name === id &&
        (group.metadata.namespace === namespace || group.metadata.namespace === SYSTEM_NAMESPACE),
    )
  const waiting = groupsNamed(spec.principalId, metadata.namespace)
  for (let group = waiting.pop(); group !== undefined; group = waiting.pop()) {
    if (seen.has(group)) continue
    seen.add(group)
    for (const id of group.spec.memberIds) {
      const nested = groupsNamed(id, group.metadata.namespace)
      if (nested.length === 0) principals.add(id)
      else waiting.push(...nested)
    }
  }
  return principals
}
