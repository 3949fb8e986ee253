import { uuidV5 } from '../core/ids.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { formatScope } from '../core/scope.ts'
import type { Boundary } from '../crds/boundaries.ts'
import { RoleAssignment } from '../crds/rbac.ts'

/** Grants both of our service accounts the Secrets of a boundary's own namespace, where sources keep credentials. */
export const BOUNDARY_SECRETS_ROLE = 'freehold-source-secrets'
/** Grants the controllers a watch on them. The facade does not need one: it reads a Secret per request. */
export const BOUNDARY_SECRETS_WATCH_ROLE = 'freehold-source-secrets-watch'

export function boundarySecretBindings(namespace: string): KubeObject[] {
  return [
    binding(namespace, BOUNDARY_SECRETS_ROLE, ['freehold-controllers', 'freehold-facade']),
    binding(namespace, BOUNDARY_SECRETS_WATCH_ROLE, ['freehold-controllers']),
  ]
}

function binding(namespace: string, role: string, accounts: readonly string[]): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: role, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace: SYSTEM_NAMESPACE })),
  } as KubeObject
}

export const INITIAL_OWNER_ROLE = 'Owner'

/**
 * Returns the Owner assignment of the boundary's initial owner, or undefined if none is named. The name is
 * deterministic, so a second attempt finds the first.
 */
export function initialOwnerAssignment(boundary: Boundary, incarnation: string): KubeObject | undefined {
  const boundaryId = boundary.metadata.name
  const owner = boundary.spec.initialOwner
  if (owner === undefined) return undefined
  return {
    apiVersion: RoleAssignment.apiVersion,
    kind: RoleAssignment.kind,
    metadata: { name: uuidV5(`initial-owner/${boundaryId}/${incarnation}`), namespace: boundaryNamespace(boundaryId) },
    spec: {
      principalId: owner.principalId,
      principalType: owner.principalType,
      roleDefinitionName: INITIAL_OWNER_ROLE,
      scope: formatScope({ level: 'boundary', boundaryId }),
      scopeIncarnation: incarnation,
    },
  }
}
