import type { z } from 'zod'
import { IdentityProviderError } from '../../adapters/identity/port.ts'
import { timestamp } from '../../core/clock.ts'
import { goneAs, ignoreNotFound, notFound, PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { readLinkToken } from '../../core/linkToken.ts'
import { boundaryIdOf, boundaryNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { isSameText } from '../../core/sameText.ts'
import { parseScope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import {
  type Acceptor,
  acceptRefusalOf,
  decideSetPassword,
  type InvitationRefusal,
  invitationStateAt,
  isInvitationOpen,
  unverifiedRefusalOf,
} from '../../iam/invitations.ts'
import { ok } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { addressOf, requireGoodPassword } from '../people/accounts.ts'
import type { UpdateRequest } from '../records/records.ts'
import { type ChangeLock, withChangeLock } from '../rules/changeLocks.ts'
import { withTenantLock } from '../rules/tenants.ts'
import { assignmentNamespace, invitationOutdated, requireStillGrantable } from './grants.ts'
import type { AcceptInvitationRequest, InvitationRecord, SetInvitationPasswordRequest } from './record.ts'

/** Returns the invitation of a link token; undefined if the token is malformed, unknown or replaced. */
async function findByToken(services: Services, token: string, fresh: boolean): Promise<InvitationRecord | undefined> {
  const read = readLinkToken(token, 2)
  const [boundaryId, name] = read?.ids ?? []
  if (read === undefined || boundaryId === undefined || name === undefined) return undefined
  const ref = { namespace: boundaryNamespace(boundaryId), name }
  const found = await services.records.get(MemberInvitation, ref, { fresh })
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined
  return isSameText(found.spec.tokenHash, read.hash) ? found : undefined
}

/** @throws PlatformError not_found */
async function requireByToken(services: Services, token: string): Promise<InvitationRecord> {
  const found = await findByToken(services, token, true)
  if (found === undefined) throw unknownLink()
  return found
}

function unknownLink(): PlatformError {
  return new PlatformError('not_found', 'The link is not valid, or has been replaced by a newer one.')
}

/** Returns the caller for an anonymous link: the account that is invited, or else the inviter, for the record only. */
function actorOf({ spec }: InvitationRecord): Caller {
  const principalId = spec.accountId ?? spec.invitedBy
  return { principalId, principalType: 'User', expiresAt: 0 }
}

function throwRefusal({ code, message }: InvitationRefusal): never {
  throw new PlatformError(code, message)
}

/** @throws PlatformError not_found if it was deleted in the meantime */
async function writeInvitation(
  { records }: Services,
  invitation: InvitationRecord,
  request: UpdateRequest<typeof MemberInvitation>,
): Promise<void> {
  await records.update(MemberInvitation, refOf(invitation), request).catch(goneAs(unknownLink))
}

/** Stores that the expiry was answered, so that the next call gets the state instead. */
async function recordExpiry(services: Services, invitation: InvitationRecord, caller: Caller): Promise<void> {
  await writeInvitation(services, invitation, {
    caller,
    change: ({ spec }) =>
      invitationStateAt(spec, services.clock.now()) === 'Expired'
        ? { ...spec, state: 'Expired', expiryAnswered: true }
        : spec,
  })
}

/** GET /invitations/{token}. @throws PlatformError NOT_FOUND if the link can no longer be used */
export async function showInvitation({ services, parameters }: Context<'token'>) {
  const found = await findByToken(services, parameters.token, false)
  const status = found === undefined ? undefined : invitationStateAt(found.spec, services.clock.now())
  if (found === undefined || status === undefined || !isInvitationOpen(status)) throw notFound('The invitation')
  const { spec, metadata } = found
  const boundary = services.records.peek(Boundary, { name: boundaryIdOf(metadata) })
  return ok({
    email: spec.email,
    boundary: boundary?.spec.displayName ?? '',
    roleDefinitionName: spec.roleDefinitionName,
    invitedBy: spec.invitedByName ?? 'An administrator',
    expiresAt: spec.expiresAt,
    status,
    hasAccount: spec.hasAccount,
    requiresPassword: !spec.hasAccount && status === 'Pending',
  })
}

/**
 * POST /invitations/{token}/set-password. The account gets the id stored in the invitation, so that an interrupted call
 * can be repeated.
 * @throws PlatformError not_found, expired, invalid_state, user_already_exists, password_policy
 */
export async function setInvitationPassword(
  context: Context<'token', unknown, z.output<typeof SetInvitationPasswordRequest>>,
) {
  const { services, parameters } = context
  const found = await requireByToken(services, parameters.token)
  // A form that is submitted twice must create one account.
  return withChangeLock(services, invitationLock(found), async () =>
    setStoredPassword(context, await requireByToken(services, parameters.token)),
  )
}

async function setStoredPassword(
  { services, body }: Context<'token', unknown, z.output<typeof SetInvitationPasswordRequest>>,
  invitation: InvitationRecord,
) {
  const { users, signInUrl } = services.accounts
  const { spec } = invitation
  const caller = actorOf(invitation)
  const decision = decideSetPassword(spec, services.clock.now())
  if (decision.refusal !== undefined) {
    if (decision.refusal.code === 'expired') await recordExpiry(services, invitation, caller)
    throwRefusal(decision.refusal)
  }
  const answer = { signInUrl, email: spec.email, status: 'AwaitingLogin' as const }
  if (decision.isRepeat) return ok(answer)
  const { accountId } = spec
  const known = await users.findByEmail(spec.email)
  if (accountId === undefined || (known !== undefined && known.id !== accountId)) throw alreadyExists()
  // Checked before the account is created, so that no useless account is left behind.
  await requireStillGrantable(services, invitation, accountId)
  await requireGoodPassword(services.accounts, body.password, spec.email)
  const { firstName, lastName } = body
  if (known === undefined) await makeAccount(services, { id: accountId, email: spec.email, firstName, lastName })
  await users.setPassword(accountId, body.password)
  await writeInvitation(services, invitation, {
    caller,
    change: (stored) => {
      const again = decideSetPassword(stored.spec, services.clock.now())
      if (again.refusal !== undefined) throwRefusal(again.refusal)
      return { ...stored.spec, state: 'AwaitingLogin', firstName, lastName }
    },
  })
  return ok(answer)
}

function alreadyExists(cause?: unknown): PlatformError {
  const message = 'An account with the invited address now exists: ask for the invitation to be sent again.'
  return new PlatformError('user_already_exists', message, {}, cause === undefined ? undefined : { cause })
}

type Account = { id: string; email: string; firstName: string; lastName: string }

async function makeAccount({ accounts }: Services, account: Account): Promise<void> {
  try {
    // The link was sent to the address, so the address is verified.
    await accounts.users.create({ ...account, userName: account.email, emailVerified: true })
  } catch (error) {
    if (error instanceof IdentityProviderError && error.reason === 'NameTaken') throw alreadyExists(error)
    throw error
  }
}

/**
 * POST /invitations/accept. The assignment is created first, with a name derived from the invitation, so that an
 * interrupted call can be repeated.
 * @throws PlatformError email_not_verified, not_found, email_mismatch, expired, invalid_state, in this order
 */
export async function acceptInvitation(context: Context<string, unknown, z.output<typeof AcceptInvitationRequest>>) {
  const { services, caller, body } = context
  const acceptor = await addressOf(caller, services.accounts.users)
  const unverified = unverifiedRefusalOf(acceptor)
  if (unverified !== undefined) throwRefusal(unverified)
  return acceptInvitationAs(services, caller, acceptor, await requireByToken(services, body.token))
}

/**
 * Serializes changes of an invitation: two concurrent accepts would share one assignment, which the refused one would
 * then delete.
 */
export function invitationLock({ metadata }: InvitationRecord): ChangeLock {
  return { key: `invitation ${metadata.name}`, sees: [] }
}

/** @throws PlatformError not_found, email_mismatch, expired, invalid_state, in this order */
export function acceptInvitationAs(
  services: Services,
  caller: Caller,
  acceptor: Acceptor,
  invitation: InvitationRecord,
) {
  const { metadata, spec } = invitation
  const { namespace, name, uid } = metadata
  return withChangeLock(services, invitationLock(invitation), async () => {
    const stored = await services.records.get(MemberInvitation, { namespace, name }, { fresh: true })
    const isSame = stored?.metadata.uid === uid && stored?.spec.tokenHash === spec.tokenHash
    if (stored === undefined || !isSame) throw unknownLink()
    return acceptStored(services, caller, acceptor, stored)
  })
}

async function acceptStored(services: Services, caller: Caller, acceptor: Acceptor, invitation: InvitationRecord) {
  const { spec, metadata } = invitation
  const refusal = acceptRefusalOf(spec, acceptor, services.clock.now())
  if (refusal !== undefined) {
    if (refusal.code === 'expired') await recordExpiry(services, invitation, caller)
    throwRefusal(refusal)
  }
  await requireStillGrantable(services, invitation, caller.principalId)
  const { ref, isNew } = await assign(services, invitation, caller)
  let hasJoined: string | undefined
  try {
    hasJoined = await joinTenant(services, invitation, caller)
    await writeInvitation(services, invitation, {
      caller,
      change: (stored) => {
        const again = acceptRefusalOf(stored.spec, acceptor, services.clock.now())
        if (again !== undefined) throwRefusal(again)
        const acceptedAt = timestamp(services.clock.now())
        const { principalId: acceptedBy } = caller
        return { ...stored.spec, state: 'Accepted', acceptedAt, acceptedBy, assignmentId: ref.name }
      },
    })
  } catch (error) {
    // The invitation was revoked or accepted in the meantime, so undo the grant.
    if (error instanceof PlatformError) {
      if (isNew) await revokeInvitedAssignment(services, invitation, caller)
      if (hasJoined !== undefined) await services.accounts.users.leaveTenant(caller.principalId, hasJoined)
    }
    throw error
  }
  const boundaryId = boundaryIdOf(metadata)
  return ok({ boundaryId, assignmentId: ref.name, roleDefinitionName: spec.roleDefinitionName, scope: spec.scope })
}

/** Returns whether this person has already accepted the link, because a form may be submitted twice. */
export async function isAcceptedBy(services: Services, token: string, principalId: string): Promise<boolean> {
  const found = await findByToken(services, token, true)
  return found?.spec.state === 'Accepted' && found.spec.acceptedBy === principalId
}

/** Returns the ref of an invitation's assignment; the same for every attempt to accept it. */
export function assignmentRef({ metadata, spec }: InvitationRecord): { namespace: string; name: string } {
  const scope = parseScope(spec.scope)
  if (scope === undefined) throw new PlatformError('invalid_state', 'The scope of the invitation is not valid.')
  return { namespace: assignmentNamespace(scope), name: uuidV5(`invitation/${metadata.name}/${metadata.uid}`) }
}

/** Deletes the assignment of an invitation. A concurrent revocation may already have deleted it. */
export async function revokeInvitedAssignment(
  { records }: Services,
  invitation: InvitationRecord,
  caller: Caller,
): Promise<void> {
  await records.remove(RoleAssignment, assignmentRef(invitation), { caller }).catch(ignoreNotFound)
}

/**
 * Makes a person who accepts an invitation a member of the boundary's tenant.
 * @returns the tenant, unless the person was already a member
 * @throws PlatformError invalid_state
 */
async function joinTenant(
  { accounts, records }: Services,
  { metadata }: InvitationRecord,
  { principalId, principalType }: Caller,
): Promise<string | undefined> {
  const boundary = records.peek(Boundary, { name: boundaryIdOf(metadata) })
  const tenantId = boundary === undefined ? undefined : accounts.tenants.ofBoundary(boundary)
  const user = principalType === 'User' ? await accounts.users.find(principalId) : undefined
  if (tenantId === undefined || user === undefined || user.tenantIds.includes(tenantId)) return undefined
  const joined = await withTenantLock({ records }, tenantId, async () => {
    await accounts.users.joinTenant(principalId, tenantId)
    return tenantId
  })
  if (joined === undefined) throw invitationOutdated('The tenant of the boundary no longer exists')
  return joined
}

async function assign({ records }: Services, invitation: InvitationRecord, caller: Caller) {
  const { spec } = invitation
  const ref = assignmentRef(invitation)
  const { isNew } = await records.create(RoleAssignment, {
    ...ref,
    // The inviter granted the role, not the person who accepts.
    caller: { principalId: spec.invitedBy, principalType: 'User', expiresAt: 0 },
    spec: {
      principalId: caller.principalId,
      principalType: caller.principalType,
      roleDefinitionName: spec.roleDefinitionName,
      scope: spec.scope,
      scopeIncarnation: spec.scopeIncarnation,
      reason: 'Invited',
    },
  })
  return { ref, isNew }
}
