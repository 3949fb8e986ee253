import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { TENANT_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ROOT_SCOPE } from '../../core/scope.ts'
import { Uuid } from '../../crds/fields.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant, RoleAssignment } from '../../crds/rbac.ts'
import type { Role } from '../../iam/roles.ts'
import { created, noContent } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader, refuseStale } from '../http/etag.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { ROOT_LOCK, withChangeLock } from '../rules/changeLocks.ts'
import { refuseUngoverned } from '../rules/governing.ts'
import { assignmentIdOf, findRole, isInForce, removeAssignments, roleToGive, writeAssignment } from '../rules/grants.ts'
import { RoleName } from '../rules/memberRecord.ts'
import { noTenant, withTenantLock } from '../rules/tenants.ts'

const ROOT = '/'

const AddMemberRequest = strictRecord('AddMemberRequest', {
  userId: Uuid.describe('Id of the person'),
  tenantId: Uuid.describe('Id of the tenant that the person is put into'),
  roleDefinitionName: RoleName.nullish().describe('Given at the root; null makes a member of the tenant only'),
})

const PlatformMemberDto = namedRecord('PlatformMemberDto', {
  userId: UuidDto,
  tenantId: UuidDto,
  displayName: z.string(),
  email: z.string().nullable(),
  roleDefinitionName: z.string().nullable(),
  assignmentId: UuidDto.nullable(),
  createdAt: DateTime,
})

type Add = Context<string, unknown, z.output<typeof AddMemberRequest>>

/** @throws PlatformError unknown_user, tenant_not_found, unknown_role, already_member, forbidden; the first wins */
async function addPlatformMember(context: Add) {
  const { services, caller, body } = context
  const { userId, tenantId } = body
  const user = (await services.principals.find([userId])).get(userId)
  if (user === undefined || user.principalType !== 'User' || user.isAssumed === true) {
    throw new PlatformError('unknown_user', `No person has the id "${userId}".`, { userId })
  }
  if (services.records.peek(PlatformTenant, { name: tenantId }) === undefined) {
    throw noTenant(tenantId)
  }
  const wanted = body.roleDefinitionName ?? undefined
  if (wanted !== undefined) findRole(services, wanted)
  const isMember = user.tenantIds.includes(tenantId)
  const holds = services.records
    .peekAll(RoleAssignment, { namespace: SYSTEM_NAMESPACE })
    .filter(({ spec }) => spec.principalId === userId && spec.scope === ROOT && spec.roleDefinitionName === wanted)
    .some((assignment) => isInForce(services, assignment))
  if (isMember && (wanted === undefined || holds)) throw alreadyMember(userId, tenantId)
  const role = roleToGive(services, caller, wanted, { scope: ROOT, principalIds: [userId] })
  const added = await withTenantLock(services, tenantId, () => addToTenant(context, holds ? undefined : role))
  if (added === undefined) throw noTenant(tenantId)
  const { given, isChanged } = added
  if (!isChanged && given?.isNew !== true) throw alreadyMember(userId, tenantId)
  const dto = {
    userId,
    tenantId,
    displayName: user.displayName ?? '',
    email: user.email,
    roleDefinitionName: role?.displayName ?? null,
    assignmentId: given === undefined ? null : assignmentIdOf(given.object),
    createdAt: given?.object.metadata.creationTimestamp ?? timestamp(services.clock.now()),
  }
  return created(dto, etagHeader(given?.object))
}

/** @param role that the person does not have yet */
async function addToTenant(context: Add, role: Role | undefined) {
  const { services, caller, body } = context
  const { userId: principalId, tenantId } = body
  const annotations = { [TENANT_ANNOTATION]: tenantId }
  const grant = { principalId, principalType: 'User' as const, scope: ROOT, annotations }
  const given = role === undefined ? undefined : await writeAssignment(services, caller, { ...grant, role })
  const { isChanged } = await joinTenant(context)
  return { given, isChanged }
}

/** People of an external identity provider have no PlatformUser. */
async function joinTenant({ services, caller, body }: Add): Promise<{ isChanged: boolean }> {
  const ref = { namespace: SYSTEM_NAMESPACE, name: body.userId }
  if (services.records.peek(PlatformUser, ref) === undefined) {
    await services.accounts.users.joinTenant(body.userId, body.tenantId)
    return { isChanged: true }
  }
  return services.records.update(PlatformUser, ref, {
    caller,
    change: ({ spec }) => ({ ...spec, tenantIds: [...new Set([...spec.tenantIds, body.tenantId])] }),
  })
}

function alreadyMember(userId: string, tenantId: string): PlatformError {
  return new PlatformError('already_member', `"${userId}" is already a member of tenant "${tenantId}".`, {
    userId,
    tenantId,
  })
}

/** Ends the membership and the root assignments granted with it. @throws PlatformError NOT_FOUND, last_owner */
async function removePlatformMember({ services, caller, ifMatch, parameters }: Context<'userId' | 'tenantId'>) {
  const { userId, tenantId } = parameters
  const user = (await services.principals.find([userId])).get(userId)
  if (user === undefined || !user.tenantIds.includes(tenantId)) {
    throw notFound(`Member "${userId}" of tenant "${tenantId}"`)
  }
  return withChangeLock(services, ROOT_LOCK, async () => {
    const made = services.records
      .peekAll(RoleAssignment, { namespace: SYSTEM_NAMESPACE })
      .filter(
        ({ metadata, spec }) => spec.principalId === userId && metadata.annotations?.[TENANT_ANNOTATION] === tenantId,
      )
    refuseStale(made, ifMatch)
    const after = { removed: new Set(made.map(assignmentIdOf)) }
    await refuseUngoverned(services, ROOT_SCOPE, after, 'last_owner', { userId })
    // Assignments first, so that a failure half way does not leave them in place.
    await removeAssignments(services, caller, made)
    const ref = { namespace: SYSTEM_NAMESPACE, name: userId }
    if (services.records.peek(PlatformUser, ref) === undefined) {
      await services.accounts.users.leaveTenant(userId, tenantId)
      return noContent()
    }
    await services.records.update(PlatformUser, ref, {
      caller,
      change: ({ spec }) => ({ ...spec, tenantIds: spec.tenantIds.filter((id) => id !== tenantId) }),
    })
    return noContent()
  })
}

export const platformMemberRoutes: readonly RouteDraft[] = [
  route('POST', '/admin/iam/members', {
    auth: action('rbac/members/admin'),
    further: GRANT_RIGHTS,
    summary: 'Make somebody a member of a tenant, with a role at the root if one is named',
    body: AddMemberRequest,
    reply: PlatformMemberDto,
    handler: addPlatformMember,
  }),
  route('DELETE', '/admin/iam/members/{userId}/{tenantId}', {
    auth: action('rbac/members/admin'),
    summary: 'End a membership and what was given with it',
    handler: removePlatformMember,
  }),
]
