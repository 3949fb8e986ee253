import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { isAddress } from '../../core/address.ts'
import { DAY_MS, timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { newLinkToken } from '../../core/linkToken.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { pluralize } from '../../core/pluralize.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { invitationStateAt, isInvitationOpen, isSameAddress } from '../../iam/invitations.ts'
import { type BoundaryRecord, boundaryScope } from '../callers/visibility.ts'
import { created } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { invitationMail } from '../people/mails.ts'
import { findRole, incarnationAt } from '../rules/grants.ts'
import { holdsDirectly, invitedScope, requireGrantRights, requireScopeExists, scopeStillExists } from './grants.ts'
import { type CreateInvitationRequest, type InvitationDto, type InvitationRecord, invitationDto } from './record.ts'

const DEFAULT_EXPIRY_DAYS = 7

type Request = z.output<typeof CreateInvitationRequest>

export function linkOf({ accounts }: Services, token: string): string {
  return `${accounts.linkBase}/invitations/${token}`
}

/** Sends the link, or returns it if mail is not configured. */
export function deliver(services: Services, invitation: InvitationRecord, boundary: string, link: string) {
  const { outbox } = services.accounts
  outbox.send(invitationMail(invitation, boundary, link))
  return outbox.isConfigured ? undefined : link
}

/**
 * Checks in the order of the interface (section 7): e-mail and role; the boundary's tenant; scope and grant rights;
 * existing invitations and assignments.
 *
 * @throws PlatformError with the codes of that section
 */
export async function createInvitation(context: Context<'boundaryId', unknown, Request>) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  const email = readAddress(body.email)
  const role = findRole(services, body.roleDefinitionName)
  const boundary = resolveTenant(services, boundaryId)
  const text = body.scope ?? boundaryScope(boundaryId)
  const scope = invitedScope(text, boundaryId, role)
  const user = await services.accounts.users.findByEmail(email)
  requireGrantRights(services, caller, user?.id, role, boundaryId, text)
  requireScopeExists(services, scope)
  const scopeIncarnation = incarnationAt(services, scope)
  const namespace = boundaryNamespace(boundaryId)
  const earlier = await endedInvitations(context, email)
  limitMails(services, caller, namespace, email)
  if (user !== undefined && holdsDirectly(services, user.id, role.displayName, scope, text)) {
    throw new PlatformError('already_member', `The person already has the role "${role.displayName}" at ${text}.`)
  }
  const hasAccount = user !== undefined || services.accounts.makesNoAccounts === true
  const id = invitationId(boundaryId, email, earlier)
  const { token, hash } = newLinkToken([boundaryId, id])
  const now = services.clock.now()
  const { object, isNew } = await services.records.create(MemberInvitation, {
    namespace,
    name: id,
    caller,
    spec: {
      email,
      roleDefinitionName: role.displayName,
      scope: text,
      scopeIncarnation,
      tenantId: services.accounts.tenants.ofBoundary(boundary),
      invitedBy: caller.principalId,
      invitedByName: caller.displayName,
      hasAccount,
      accountId: hasAccount ? undefined : randomUUID(),
      message: body.message,
      firstName: body.firstName,
      lastName: body.lastName,
      expiresAt: timestamp(now + (body.expiresInDays ?? DEFAULT_EXPIRY_DAYS) * DAY_MS),
      tokenHash: hash,
      lastSentAt: timestamp(now),
    },
    isSame: () => true,
  })
  if (!isNew) throw duplicatePending()
  const link = deliver(services, object, boundary.spec.displayName, linkOf(services, token))
  return created<InvitationDto>(invitationDto(services, object, link), { etag: etagOf(object) })
}

function readAddress(text: string): string {
  const email = text.trim()
  if (email === '') throw new PlatformError('invalid_state', 'The e-mail address is empty.')
  if (isAddress(email)) return email
  throw refusedFields([{ field: 'email', message: 'must be one e-mail address' }])
}

function resolveTenant({ records, accounts }: Services, boundaryId: string): BoundaryRecord {
  const boundary = records.peek(Boundary, { name: boundaryId })
  if (boundary !== undefined && accounts.tenants.ofBoundary(boundary) !== undefined) return boundary
  const message =
    boundary === undefined
      ? `There is no boundary "${boundaryId}".`
      : `Boundary "${boundaryId}" belongs to no tenant, so nobody can be invited: give it one first (POST /boundaries/${boundaryId}/tenant).`
  throw new PlatformError('tenant_resolution_failed', message)
}

/** Returns ended or void invitations of the address. @throws PlatformError duplicate_pending if one is open */
async function endedInvitations(
  { services, parameters }: Context<'boundaryId', unknown, Request>,
  email: string,
): Promise<readonly InvitationRecord[]> {
  const { records, clock } = services
  // Without an incarnation, an invitation may still be for the present scope.
  const isForFormerScope = (one: InvitationRecord) =>
    one.spec.scopeIncarnation !== undefined && !scopeStillExists(services, one)
  const isDuplicate = (one: InvitationRecord) =>
    isInvitationOpen(invitationStateAt(one.spec, clock.now())) && !isForFormerScope(one)
  const namespace = boundaryNamespace(parameters.boundaryId)
  const all = await records.list(MemberInvitation, { namespace }, { fresh: true })
  const earlier = all.filter(({ spec }) => isSameAddress(spec.email, email))
  if (earlier.some(isDuplicate)) throw duplicatePending()
  return earlier
}

/** Returns the id of the next invitation, fixed so that the API server rejects concurrent duplicates. */
function invitationId(boundaryId: string, email: string, earlier: readonly InvitationRecord[]): string {
  const names = earlier.map(({ metadata }) => metadata.name).sort()
  return uuidV5(['invitation', boundaryId, email.toLowerCase(), ...names].join('/'))
}

function duplicatePending(): PlatformError {
  return new PlatformError('duplicate_pending', 'The address already has an open invitation to this boundary.')
}

/**
 * Counts invitations like resends, per boundary and per inviter: revoking and inviting again must not send more mail to
 * an address than resends may.
 * @throws PlatformError TOO_MANY_REQUESTS
 */
function limitMails({ records, accounts, clock }: Services, caller: Caller, namespace: string, email: string): void {
  const { immediate, interval } = accounts.resendLimits
  const since = clock.now() - interval
  const sent = records
    .peekAll(MemberInvitation)
    .filter(({ metadata, spec }) => metadata.namespace === namespace || spec.invitedBy === caller.principalId)
    .filter(({ spec }) => isSameAddress(spec.email, email) && Date.parse(spec.lastSentAt ?? '') > since)
    .map(({ spec }) => Date.parse(spec.lastSentAt ?? ''))
  if (sent.length <= immediate) return
  const retryAfterSeconds = Math.max(1, Math.ceil((Math.min(...sent) - since) / 1000))
  const message = `The address was invited ${pluralize(sent.length, 'time')} recently: invite it again later.`
  throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })
}
