import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { Description, Scope, Uuid } from '../../crds/fields.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { namesCurrentRole } from '../../crds/roleIncarnations.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { ofType, principalNotFound } from '../callers/principals.ts'
import { boundaryScope, requireActionBelow } from '../callers/visibility.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import type { Context } from '../http/context.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { boundaryLock } from '../rules/changeLocks.ts'
import { refusePast } from '../rules/expiry.ts'
import { refuseUngoverned } from '../rules/governing.ts'
import {
  assignmentIdOf,
  findRole,
  isInForce,
  knownRole,
  refuseExceeding,
  rolesNamed,
  rootOnlyRefused,
  writeAssignment,
} from '../rules/grants.ts'
import { PRINCIPAL_TYPES, RoleName } from '../rules/memberRecord.ts'
import { roleIdOf } from './roleDefinitions.ts'
import { readScope } from './scopes.ts'

const WRITE = 'rbac/members/write'
const STATUSES = ['Active', 'Expired'] as const

const CreateRoleAssignmentRequest = strictRecord('CreateRoleAssignmentRequest', {
  principalId: Uuid,
  principalType: z.enum(PRINCIPAL_TYPES).nullish().describe('Looked up when absent'),
  roleDefinitionName: RoleName,
  scope: Scope.nullish().describe('The boundary when absent'),
  expiresAt: DateTime.nullish(),
  reason: Description.nullish(),
})

const RoleAssignmentDto = namedRecord('RoleAssignmentDto', {
  id: UuidDto,
  principalId: UuidDto,
  principalType: z.enum(PRINCIPAL_TYPES),
  roleDefinitionName: z.string(),
  roleDefinitionId: UuidDto.nullable().describe('Null if the role that it gave no longer exists'),
  scope: z.string(),
  expiresAt: DateTime.nullable(),
  reason: z.string().nullable(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  status: z
    .enum(STATUSES)
    .describe(
      'Active while it counts; Expired once its time is over, or its role, its principal or the object at its scope is gone or has been replaced',
    ),
})

type Create = Context<string, unknown, z.output<typeof CreateRoleAssignmentRequest>>

/** @throws PlatformError unknown_role, forbidden, BAD_REQUEST, FORBIDDEN, principal_not_found, already_exists; the first wins */
async function makeAssignment(context: Create, { boundaryId }: BoundaryParent) {
  const { services, caller, body } = context
  const { principalId } = body
  const text = body.scope ?? boundaryScope(boundaryId)
  const role = findRole(services, body.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, text)
  readScope(services, text, boundaryId)
  await requireActionBelow(context, WRITE, text)
  refusePast(services.clock.now(), 'expiresAt', body)
  const known = (await findVisiblePrincipals(services, caller, [principalId], boundaryId)).get(principalId)
  const principal = ofType(known, body.principalType)
  if (principal === undefined) throw principalNotFound(principalId)
  refuseExceeding(services, caller, { role, scope: text, principalIds: [principalId], boundaryId }, 'forbidden')
  const { principalType } = principal
  const more = { expiresAt: body.expiresAt ?? undefined, reason: body.reason ?? undefined }
  const { object, isNew } = await writeAssignment(services, caller, {
    principalId,
    principalType,
    role,
    scope: text,
    ...more,
  })
  if (!isNew) {
    const message = `"${principalId}" already holds the role "${role.displayName}" at ${text}.`
    throw new PlatformError('already_exists', message, { id: assignmentIdOf(object) })
  }
  return { object }
}

export const roleAssignments = collection(RoleAssignment, {
  path: '{B}/providers/authorization/roleAssignments',
  item: 'assignmentId',
  noun: 'Assignment',
  parent: inBoundary,
  may: { read: action('rbac/members/read'), write: action(WRITE) },
  dto: RoleAssignmentDto,
  toDto: (assignment, { services }) => {
    const isThere = namesCurrentRole(rolesNamed(services.records, assignment.spec.roleDefinitionName), assignment)
    const role = isThere ? knownRole(services.records, assignment.spec.roleDefinitionName) : undefined
    return {
      roleDefinitionId: role === undefined ? null : roleIdOf(role.name),
      status: isInForce(services, assignment) ? ('Active' as const) : ('Expired' as const),
    }
  },
  columns: {
    principalId: text('Principal', { isSorted: false }),
    principalType: enumeration('Type', PRINCIPAL_TYPES, { isSorted: false }),
    roleDefinitionName: text('Role', { isSearched: true }),
    scope: text('Scope'),
    status: enumeration('Status', STATUSES, { isSorted: false }),
    createdAt: dateTime('Created'),
  },
  sort: '-createdAt',
  name: 'roleDefinitionName',
  list: { summary: 'The assignments of the boundary, at it and at anything in it' },
  create: {
    summary: 'Give a role at the boundary or at something in it',
    further: GRANT_RIGHTS,
    body: CreateRoleAssignmentRequest,
    make: makeAssignment,
  },
  remove: {
    summary: 'Remove a role from somebody',
    lock: ({ boundaryId }) => boundaryLock(boundaryId),
    before: ({ services }, assignment, { boundaryId }) => {
      const assignmentId = assignmentIdOf(assignment)
      const after = { removed: new Set([assignmentId]) }
      return refuseUngoverned(services, { level: 'boundary', boundaryId }, after, 'last_owner', { assignmentId })
    },
  },
})
