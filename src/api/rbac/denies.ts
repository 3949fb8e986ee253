import { z } from 'zod'
import { Description, Scope, Uuid } from '../../crds/fields.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { groupsOfMembers } from '../../iam/groups.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { boundaryLock } from '../rules/changeLocks.ts'
import { checkDeny, refuseOwnDeny, withGroupsOf } from '../rules/denies.ts'
import { refuseLockout } from '../rules/governing.ts'
import { groupsIn, incarnationAt } from '../rules/grants.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

const { actions, dataActions } = DenyAssignment.spec.shape

const CreateDenyAssignmentRequest = strictRecord('CreateDenyAssignmentRequest', {
  principalId: Uuid.nullish(),
  isEveryone: z.boolean().nullish().describe('Exactly one of principalId and isEveryone'),
  principalType: z.enum(PRINCIPAL_TYPES).nullish().describe('Looked up when absent'),
  excludedPrincipalIds: z.array(Uuid).max(200).default([]),
  actions,
  dataActions,
  scope: Scope.nullish().describe('The boundary when absent'),
  reason: Description.nullish(),
  expiresAt: DateTime.nullish(),
})
const DenyAssignmentDto = namedRecord('DenyAssignmentDto', {
  id: UuidDto,
  principalId: UuidDto.nullable(),
  isEveryone: z.boolean(),
  principalType: z.enum(PRINCIPAL_TYPES).nullable(),
  excludedPrincipalIds: z.array(UuidDto),
  actions: z.array(z.string()),
  dataActions: z.array(z.string()),
  scope: z.string(),
  reason: z.string().nullable(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  expiresAt: DateTime.nullable(),
})
export const denies = collection(DenyAssignment, {
  path: '{B}/providers/authorization/denyAssignments',
  item: 'denyId',
  noun: 'Deny',
  parent: inBoundary,
  may: { read: action('rbac/members/read'), write: action('rbac/members/write') },
  dto: DenyAssignmentDto,
  toDto: () => ({}),
  columns: {
    scope: text('Scope', { isSorted: false }),
    principalType: enumeration('Type', PRINCIPAL_TYPES, { isSorted: false }),
    createdAt: dateTime('Created', { isFiltered: false }),
  },
  sort: '-createdAt',
  list: {
    summary: 'The denies of the boundary',
    query: z.object({ principalId: Uuid.optional().describe('Denies of this principal and of the groups it is in') }),
    where: ({ principalId }, { services, parameters }) => {
      if (principalId === undefined) return () => true
      const subjects = withGroupsOf(principalId, groupsOfMembers(groupsIn(services, parameters.boundaryId)))
      return ({ spec }) => subjects.has(spec.principalId ?? '')
    },
  },
  get: { summary: 'Read a deny' },
  create: {
    summary: 'Deny actions to somebody, or to everyone',
    body: CreateDenyAssignmentRequest,
    lock: ({ boundaryId }) => boundaryLock(boundaryId),
    toSpec: async ({ services, caller, body }, { boundaryId }) => {
      const { scope, principalType } = await checkDeny(services, caller, boundaryId, body)
      await refuseLockout(services, boundaryId, body)
      const { principalId, principalType: _asked, ...rest } = body
      return {
        ...rest,
        ...(typeof principalId === 'string' ? { principalId, principalType } : {}),
        isEveryone: body.isEveryone === true,
        scope: body.scope ?? boundaryScope(boundaryId),
        scopeIncarnation: incarnationAt(services, scope),
      }
    },
  },
  remove: {
    summary: 'Remove a deny',
    before: ({ services, caller }, deny, { boundaryId }) => refuseOwnDeny(services, caller, boundaryId, deny),
  },
})
