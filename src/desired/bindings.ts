import { BINDING_LABEL } from '../contracts/sso.ts'
import { uuidV5 } from '../core/ids.ts'
import { MANAGED_BY, MANAGED_BY_LABEL, ROLE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { parseScope } from '../core/scope.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { roleIncarnationOf } from '../crds/roleIncarnations.ts'
import { scopeIncarnationOf } from '../crds/scopeObjects.ts'
import type { IdpBinding } from '../crds/sso.ts'

/** Returns the role assignment that a binding gives one user; undefined for a binding to a group. */
export function bindingAssignment(
  binding: Pick<IdpBinding, 'metadata' | 'spec'>,
  userId: string,
): KubeObject | undefined {
  const { roleDefinitionName, scope } = binding.spec
  const namespace = namespaceOfScope(scope)
  if (roleDefinitionName === undefined || namespace === undefined) return undefined
  const { name } = binding.metadata
  const scopeIncarnation = scopeIncarnationOf(binding)
  const spec = {
    principalId: userId,
    principalType: 'User',
    roleDefinitionName,
    scope,
    ...(scopeIncarnation === undefined ? {} : { scopeIncarnation }),
    reason: 'What the identity provider of the tenant said at the last sign-in',
  }
  const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [BINDING_LABEL]: name }
  // Pin the role's incarnation: a role that is deleted and re-created under the same name grants nothing.
  const role = roleIncarnationOf(binding)
  const annotations = role === undefined ? {} : { annotations: { [ROLE_INCARNATION_ANNOTATION]: role } }
  const metadata = { namespace, name: uuidV5(['idp-binding', name, userId].join('/')), labels, ...annotations }
  return { apiVersion: RoleAssignment.apiVersion, kind: RoleAssignment.kind, metadata, spec } as KubeObject
}

/** Returns the namespace that holds the assignments of a scope. */
export function namespaceOfScope(scope: string | undefined): string | undefined {
  const place = scope === undefined ? undefined : parseScope(scope)
  if (place === undefined) return undefined
  return place.level === 'root' ? SYSTEM_NAMESPACE : boundaryNamespace(place.boundaryId)
}
