import { z } from 'zod'
import { managedIdentityPrincipal } from '../../contracts/managedIdentities.ts'
import { summarize } from '../../core/conditions.ts'
import { idOf } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformClient } from '../../crds/identity.ts'
import { CODE_COLLECTIONS, CodeCollection, type ManagedIdentity, ResourceUid } from '../../crds/managedidentities.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import type { ListShape } from '../resources/paging.ts'

export type IdentityRecord = RecordOf<typeof ManagedIdentity>

const STATES = ['Provisioning', 'Ready', 'Failed', 'Deleting'] as const

export const ManagedIdentityDto = z
  .object({
    id: Uuid,
    resourceUid: ResourceUid,
    resourceName: z.string(),
    resourceType: CodeCollection,
    boundaryId: Uuid,
    resourceGroup: z.string(),
    principalId: Uuid.describe('What assignments name'),
    clientId: z.string(),
    status: z.enum(STATES),
    statusMessage: z.string().nullable(),
    createdAt: DateTime,
    lastTokenAt: DateTime.nullable(),
    roleAssignments: z.array(
      z
        .object({ assignmentId: Uuid, roleDefinitionName: z.string(), scope: z.string() })
        .meta({ id: 'ManagedIdentityRole' }),
    ),
  })
  .meta({ id: 'ManagedIdentityDto' })
export type ManagedIdentityDto = z.output<typeof ManagedIdentityDto>

/** An identity with the group it stands in. */
export type IdentityView = { readonly object: IdentityRecord; readonly boundaryId: string; readonly group: string }

/** Made with kubectl a moment ago: the controller has not given it its incarnation yet, and so no principal. */
const NO_PRINCIPAL = '00000000-0000-0000-0000-000000000000'

export function principalOf({ metadata }: IdentityRecord): string {
  const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
  if (incarnation === '') return NO_PRINCIPAL
  return managedIdentityPrincipal(metadata.namespace ?? '', metadata.name, incarnation)
}

function stateOf({ metadata, status }: IdentityRecord): { state: (typeof STATES)[number]; message: string | null } {
  const { status: state, statusMessage: message } = summarize(status, metadata.deletionTimestamp !== undefined)
  if (state === 'Deleting' || state === 'Failed') return { state, message }
  return { state: state === 'Running' ? 'Ready' : 'Provisioning', message }
}

/** Whether the credentials of the version that was asked for work. */
export function isReady(object: IdentityRecord): boolean {
  return stateOf(object).state === 'Ready' && object.status?.secretVersion === object.spec.secretVersion
}

type Role = ManagedIdentityDto['roleAssignments'][number]

/** The assignments of each principal that the boundary or the root names, looked up once for a whole list. */
export function rolesByPrincipal(services: Services, boundaryNamespace: string): ReadonlyMap<string, readonly Role[]> {
  const roles = new Map<string, Role[]>()
  for (const namespace of [boundaryNamespace, SYSTEM_NAMESPACE]) {
    for (const { metadata, spec } of services.records.peekAll(RoleAssignment, { namespace })) {
      const { group, kind } = RoleAssignment.resource
      const { roleDefinitionName, scope, principalId } = spec
      const assignmentId = idOf({ group, kind, namespace, name: metadata.name })
      roles.set(principalId, [...(roles.get(principalId) ?? []), { assignmentId, roleDefinitionName, scope }])
    }
  }
  return roles
}

export function identityDto(
  services: Services,
  { object, boundaryId, group }: IdentityView,
  roles: ReadonlyMap<string, readonly Role[]>,
): ManagedIdentityDto {
  const { metadata, spec } = object
  const principalId = principalOf(object)
  const client = services.records.peek(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: principalId })
  const { state, message } = stateOf(object)
  return {
    id: idOf({ group: 'iam.freehold.dev', kind: 'ManagedIdentity', name: metadata.name }),
    resourceUid: spec.resourceUid,
    resourceName: spec.resourceName,
    resourceType: spec.resourceType,
    boundaryId,
    resourceGroup: group,
    principalId,
    clientId: principalId,
    status: state,
    statusMessage: message,
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
    lastTokenAt: client?.status?.lastTokenAt ?? null,
    roleAssignments: [...(roles.get(principalId) ?? [])],
  }
}

export const identityShape: ListShape<IdentityView> = {
  fields: {
    resourceName: {
      title: 'Resource',
      type: 'text',
      of: ({ object }) => object.spec.resourceName,
      isSearched: true,
    },
    resourceType: {
      title: 'Type',
      type: 'enumeration',
      values: CODE_COLLECTIONS,
      of: ({ object }) => object.spec.resourceType,
      isSorted: false,
    },
    status: {
      title: 'Status',
      type: 'enumeration',
      values: STATES,
      of: ({ object }) => stateOf(object).state,
      isSorted: false,
    },
    createdAt: {
      title: 'Created',
      type: 'dateTime',
      of: ({ object }) => object.metadata.creationTimestamp,
      isFiltered: false,
    },
  },
  defaultSort: 'resourceName',
  nameOf: ({ object }) => object.spec.resourceName,
  idOf: ({ object }) => object.metadata.name,
}
