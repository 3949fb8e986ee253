import { z } from 'zod'
import { principalOfIdentity } from '../../contracts/managedIdentities.ts'
import { type Summary, summarize, summaryOf } from '../../core/conditions.ts'
import { objectId } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformClient } from '../../crds/identity.ts'
import { CodeCollection, identityIdOf, type ManagedIdentity, ResourceUid } from '../../crds/managedidentities.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid } from '../resources/dto.ts'

export type IdentityRecord = RecordOf<typeof ManagedIdentity>

export const IDENTITY_STATES = ['Provisioning', 'Ready', 'Failed', 'Deleting'] as const

export const ManagedIdentityDto = namedRecord('ManagedIdentityDto', {
  id: Uuid,
  resourceUid: ResourceUid,
  resourceName: z.string(),
  resourceType: CodeCollection,
  boundaryId: Uuid,
  resourceGroup: z.string(),
  principalId: Uuid.describe('What assignments name'),
  clientId: z.string(),
  status: z.enum(IDENTITY_STATES),
  statusMessage: z.string().nullable(),
  createdAt: DateTime,
  lastTokenAt: DateTime.nullable(),
  roleAssignments: z.array(
    namedRecord('ManagedIdentityRole', { assignmentId: Uuid, roleDefinitionName: z.string(), scope: z.string() }),
  ),
})
export type ManagedIdentityDto = z.output<typeof ManagedIdentityDto>

/** For an identity just created with kubectl: until the controller sets its incarnation, it has no principal. */
const NO_PRINCIPAL = '00000000-0000-0000-0000-000000000000'

export function principalOf(identity: IdentityRecord): string {
  return principalOfIdentity(identity) ?? NO_PRINCIPAL
}

function stateIn({ status }: Summary): (typeof IDENTITY_STATES)[number] {
  if (status === 'Deleting' || status === 'Failed') return status
  return status === 'Running' ? 'Ready' : 'Provisioning'
}

/** Returns whether the credentials of the requested version work. */
export function isReady(object: IdentityRecord): boolean {
  const { metadata, status } = object
  // Uses the stored status, because the secret keeps working while another change is reconciled.
  const state = stateIn(summarize(status, metadata.deletionTimestamp !== undefined))
  return state === 'Ready' && object.status?.secretVersion === object.spec.secretVersion
}

type Role = ManagedIdentityDto['roleAssignments'][number]

/** Returns the assignments in the boundary and at the root by principal, computed once for a whole list. */
export function rolesByPrincipal(services: Services, boundaryNamespace: string): ReadonlyMap<string, readonly Role[]> {
  const roles = new Map<string, Role[]>()
  for (const namespace of [boundaryNamespace, SYSTEM_NAMESPACE]) {
    for (const { metadata, spec } of services.records.peekAll(RoleAssignment, { namespace })) {
      const { roleDefinitionName, scope, principalId } = spec
      const assignmentId = objectId(RoleAssignment.resource, metadata)
      roles.set(principalId, [...(roles.get(principalId) ?? []), { assignmentId, roleDefinitionName, scope }])
    }
  }
  return roles
}

/** Returns the fields of a record that are not in the spec. */
export function shownOf(object: IdentityRecord, services: Services, roles: ReadonlyMap<string, readonly Role[]>) {
  const principalId = principalOf(object)
  const client = services.records.peek(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: principalId })
  const summary = summaryOf(object)
  return {
    id: identityIdOf(object),
    principalId,
    clientId: principalId,
    status: stateIn(summary),
    statusMessage: summary.statusMessage,
    lastTokenAt: client?.status?.lastTokenAt ?? null,
    roleAssignments: [...(roles.get(principalId) ?? [])],
  }
}
