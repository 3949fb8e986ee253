import { z } from 'zod'
import { createdByOf } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { type AssignmentRecord, assignmentIdOf, isInForce } from './grants.ts'

/** Not normalized: a name that matches no role exactly, for example with spaces around it, is an unknown role. */
export const RoleName = z.string().max(128).describe('The display name of the role, matched exactly')

export const PRINCIPAL_TYPES = ['User', 'Group', 'ServicePrincipal'] as const
export const MEMBER_ORIGINS = ['Direct', 'Inherited', 'JustInTime'] as const

export const BoundaryMemberDto = namedRecord('BoundaryMemberDto', {
  assignmentId: Uuid,
  boundaryId: Uuid,
  principalId: Uuid,
  principalType: z.enum(PRINCIPAL_TYPES),
  displayName: z.string().nullable(),
  email: z.string().nullable(),
  roleDefinitionName: z.string(),
  scope: z.string(),
  origin: z.enum(MEMBER_ORIGINS),
  isInherited: z.boolean().describe('Given above the boundary; it is taken away there'),
  expiresAt: DateTime.nullable(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
})
export type BoundaryMemberDto = z.output<typeof BoundaryMemberDto>

type Named = { readonly displayName: string | null; readonly email: string | null }

export function memberDto(
  boundaryId: string,
  assignment: AssignmentRecord,
  principal: Named | undefined,
): BoundaryMemberDto {
  const { metadata, spec } = assignment
  const isInherited = spec.scope === '/'
  const origin = spec.jitRequestId !== undefined ? 'JustInTime' : isInherited ? 'Inherited' : 'Direct'
  return wholeRecord(BoundaryMemberDto, {
    ...spec,
    displayName: principal?.displayName,
    email: principal?.email,
    assignmentId: assignmentIdOf(assignment),
    ...{ boundaryId, origin, isInherited },
    createdAt: createdAtOf(metadata),
    createdBy: createdByOf(metadata),
  })
}

/** Every assignment in force that reaches into the boundary: at the root, at the boundary, and below it. */
export async function membersOf(
  { services, fresh }: Pick<Context, 'services' | 'fresh'>,
  boundaryId: string,
): Promise<BoundaryMemberDto[]> {
  const lists = await Promise.all(
    [SYSTEM_NAMESPACE, boundaryNamespace(boundaryId)].map((namespace) =>
      services.records.list(RoleAssignment, { namespace }, { fresh }),
    ),
  )
  const assignments = lists.flat().filter((assignment) => isInForce(services, assignment))
  const principals = await services.principals.find(
    assignments.map(({ spec }) => spec.principalId),
    boundaryId,
  )
  return assignments.map((assignment) => memberDto(boundaryId, assignment, principals.get(assignment.spec.principalId)))
}
