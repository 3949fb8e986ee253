import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { parseScope, type Scope } from '../core/scope.ts'
import type { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { scopeIncarnationOf } from '../crds/scopeObjects.ts'

const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** An assignment of a role that can be projected, with the people who hold it. */
export type ProjectedGrant = {
  readonly assignment: RoleAssignment
  readonly clusterRole: string
  /** Milliseconds since the epoch. */
  readonly expiry: number
  readonly scope: Scope
  readonly principals: ReadonlySet<string>
}
/** By name of the resource group; those of the boundary and of the root have the empty name. */
export type ProjectedGrants = ReadonlyMap<string, readonly ProjectedGrant[]>

type Visible = {
  /** Assignments from the boundary's namespace and freehold-system. */
  assignments: readonly RoleAssignment[]
  groups: readonly PrincipalGroup[]
  /** ClusterRoles by display name of the role, for the roles that can be projected. */
  clusterRoles: ReadonlyMap<string, string>
}

/** Works out once what the namespaces of a boundary have in common. Groups are expanded, because tokens do not carry them. */
export function projectedGrants({ assignments, groups, clusterRoles }: Visible): ProjectedGrants {
  const principalsOf = groupExpander(groups)
  const grants = assignments.flatMap((assignment): ProjectedGrant[] => {
    const { roleDefinitionName, scope: text, expiresAt } = assignment.spec
    const [clusterRole, scope] = [clusterRoles.get(roleDefinitionName), parseScope(text)]
    if (clusterRole === undefined || scope === undefined || scope.level === 'resource') return []
    const expiry = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
    return [{ assignment, clusterRole, expiry, scope, principals: principalsOf(assignment) }]
  })
  return Map.groupBy(grants, ({ scope }) => ('resourceGroup' in scope ? scope.resourceGroup : ''))
}

export type ProjectionInput = {
  boundary: KubeObject
  /** The group whose namespace gets bindings; absent for the boundary's own namespace. */
  group?: KubeObject | undefined
  grants: ProjectedGrants
  /** Milliseconds since the epoch. */
  now: number
}

export type Projection = { bindings: KubeObject[] /** When the next assignment ends. */; nextEnd: number | undefined }

/**
 * Returns the RoleBindings of a namespace: one per role, with every principal that holds it by an assignment at this
 * scope or above. Assignments on single resources are skipped, because a binding applies to the whole namespace.
 */
export function projectedBindings({ boundary, group, grants, now }: ProjectionInput): Projection {
  const holders = new Map<string, Set<string>>()
  const expiries: number[] = []
  const own = group === undefined ? [] : (grants.get(group.metadata.name) ?? [])
  for (const grant of [...(grants.get('') ?? []), ...own]) {
    const { clusterRole, expiry, principals } = grant
    if (!(now < expiry) || !appliesTo(grant, boundary, group)) continue
    expiries.push(expiry)
    const set = holders.get(clusterRole) ?? new Set()
    for (const principal of principals) set.add(principal)
    holders.set(clusterRole, set)
  }
  const id = boundary.metadata.name
  const namespace = group === undefined ? boundaryNamespace(id) : groupNamespace(id, group.metadata.name)
  const held = [...holders].filter(([, principals]) => principals.size > 0)
  const first = expiries.reduce((earliest, expiry) => Math.min(earliest, expiry), Number.POSITIVE_INFINITY)
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

/** Whether an assignment is in the right namespace, and of this incarnation of its scope. */
function appliesTo({ assignment, scope }: ProjectedGrant, boundary: KubeObject, group?: KubeObject): boolean {
  const { metadata } = assignment
  if (scope.level === 'root') return metadata.namespace === SYSTEM_NAMESPACE
  const id = boundary.metadata.name
  if (scope.boundaryId !== id || metadata.namespace !== boundaryNamespace(id)) return false
  if (scope.level === 'boundary') return isOfIncarnation(assignment, boundary)
  return group !== undefined && isOfIncarnation(assignment, group)
}

function isOfIncarnation(assignment: RoleAssignment, object: KubeObject): boolean {
  const incarnation = scopeIncarnationOf(assignment)
  return incarnation !== undefined && incarnation === object.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** Returns a function that expands each group once. A boundary's group counts within it, a platform group everywhere. */
function groupExpander(groups: readonly PrincipalGroup[]): (assignment: RoleAssignment) => ReadonlySet<string> {
  const byName = Map.groupBy(groups, ({ metadata }) => metadata.name)
  const groupsNamed = (id: string, namespace: string | undefined) =>
    (byName.get(id) ?? []).filter(
      ({ metadata }) => metadata.namespace === namespace || metadata.namespace === SYSTEM_NAMESPACE,
    )
  const expand = (principalId: string, namespace: string | undefined) => {
    const principals = new Set<string>()
    const seen = new Set<PrincipalGroup>()
    const waiting = groupsNamed(principalId, namespace)
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
  const expanded = new Map<string, ReadonlySet<string>>()
  return ({ metadata: { namespace }, spec: { principalId, principalType } }) => {
    if (principalType !== 'Group') return new Set([principalId])
    const key = `${namespace}/${principalId}`
    const principals = expanded.get(key) ?? expand(principalId, namespace)
    expanded.set(key, principals)
    return principals
  }
}
