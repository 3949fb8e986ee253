import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { goneAs, PlatformError } from '../../core/errors.ts'
import { newLinkToken } from '../../core/linkToken.ts'
import { boundaryIdOf } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { INVITATION_STATES, MemberInvitation } from '../../crds/invitations.ts'
import { invitationStateAt, resendRefusalOf, revokeRefusalOf } from '../../iam/invitations.ts'
import { noContent, ok } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { action, anonymous, authenticated, type RouteDraft, route } from '../http/route.ts'
import { PasswordPolicyDto, passwordPolicyDto } from '../people/passwordRecord.ts'
import { collection } from '../resources/collection/collection.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { dateTime, enumeration, foldedWord, text } from '../resources/paging.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { findRole } from '../rules/grants.ts'
import { createInvitation, deliver, linkOf } from './create.ts'
import { requireGrantRights, requireStillGrantable } from './grants.ts'
import {
  acceptInvitation,
  invitationLock,
  revokeInvitedAssignment,
  setInvitationPassword,
  showInvitation,
} from './link.ts'
import {
  AcceptInvitationRequest,
  CreateInvitationRequest,
  InvitationAcceptedDto,
  InvitationDto,
  type InvitationRecord,
  InvitationSignInDto,
  invitationDto,
  PublicInvitationDto,
  SetInvitationPasswordRequest,
} from './record.ts'

const INVITATIONS = '{B}/providers/authorization/invitations'

const StatusQuery = z
  .string()
  .transform((text) => INVITATION_STATES.find((state) => foldedWord(state) === foldedWord(text)))
  .refine((state) => state !== undefined, `must be one of ${INVITATION_STATES.join(', ')}`)
  .meta({ override: { enum: [...INVITATION_STATES] } })
  .optional()
  .describe('Only those; upper and lower case count the same')

const invitationNotFound = () => new PlatformError('not_found', 'There is no such invitation in the boundary.')

const invitations = collection(MemberInvitation, {
  path: INVITATIONS,
  item: 'invitationId',
  noun: 'Invitation',
  parent: inBoundary,
  keyOf: 'name',
  missing: invitationNotFound,
  may: { read: action('boundaries/invitations/read') },
  dto: InvitationDto,
  toDto: (invitation, { services }) => invitationDto(services, invitation),
  columns: {
    email: text('E-mail', { isSearched: true, isSorted: false }),
    roleDefinitionName: text('Role', { isSorted: false }),
    status: enumeration('Status', INVITATION_STATES, { isSorted: false }),
    createdAt: dateTime('Created'),
    expiresAt: dateTime('Expires'),
  },
  sort: '-createdAt',
  name: 'email',
  list: {
    summary: 'The invitations to a boundary',
    query: z.object({ status: StatusQuery }),
    where: ({ status }, { services }) => {
      const now = services.clock.now()
      return ({ spec }) => status === undefined || invitationStateAt(spec, now) === status
    },
  },
})

/** @throws PlatformError not_found, already_accepted, already_revoked */
async function revokeInvitation(context: Context) {
  const { services, caller, ifMatch } = context
  const { object: found } = await invitations.find(context)
  const ref = refOf(found)
  return withChangeLock(services, invitationLock(found), async () => {
    const revoke = services.records.update(MemberInvitation, ref, {
      ...{ caller, ifMatch },
      change: ({ spec }) => {
        const refusal = revokeRefusalOf(spec)
        if (refusal !== undefined) throw new PlatformError(refusal.code, refusal.message)
        return { ...spec, state: 'Revoked' }
      },
    })
    await revoke.catch(goneAs(invitationNotFound))
    // An accept that was interrupted may have left its assignment, which is deleted with the invitation.
    await revokeInvitedAssignment(services, found, caller)
    return noContent()
  })
}

/** @throws PlatformError not_found, invalid_state, resend_limit; forbidden if it would show a foreign grant's link */
async function resendInvitation(context: Context<'boundaryId' | 'invitationId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { object: found } = await invitations.find(context)
  const ref = refOf(found)
  const user = await services.accounts.users.findByEmail(found.spec.email)
  const refused = resendRefusalOf(found.spec, services.clock.now(), services.accounts.resendLimits)
  if (refused?.code !== 'invalid_state')
    await requireStillGrantable(services, found, user?.id ?? found.spec.accountId ?? '')
  if (refused === undefined && !services.accounts.outbox.isConfigured) requireRights(services, caller, found, user?.id)
  const { token, hash } = newLinkToken([parameters.boundaryId, parameters.invitationId])
  const send = services.records.update(MemberInvitation, ref, {
    ...{ caller, ifMatch },
    change: ({ spec }) => {
      const now = services.clock.now()
      const refusal = resendRefusalOf(spec, now, services.accounts.resendLimits)
      if (refusal !== undefined) throw new PlatformError(refusal.code, refusal.message)
      // The address may have got an account elsewhere in the meantime, which must then be used to accept.
      const isElsewhere =
        services.accounts.makesNoAccounts === true || (user !== undefined && user.id !== spec.accountId)
      const hasAccount = spec.hasAccount || isElsewhere
      return { ...spec, hasAccount, tokenHash: hash, resendCount: spec.resendCount + 1, lastSentAt: timestamp(now) }
    },
  })
  const { object } = await send.catch(goneAs(invitationNotFound))
  const boundary = services.records.peek(Boundary, { name: parameters.boundaryId })
  const link = deliver(services, object, boundary?.spec.displayName ?? '', linkOf(services, token))
  return ok(invitationDto(services, object, link), { etag: etagOf(object) })
}

/** Whoever sees the link can create the account and get its role. @throws PlatformError forbidden */
function requireRights(
  services: Services,
  caller: Caller,
  { metadata, spec }: InvitationRecord,
  invitee: string | undefined,
): void {
  const boundaryId = boundaryIdOf(metadata)
  requireGrantRights(services, caller, invitee, findRole(services, spec.roleDefinitionName), boundaryId, spec.scope)
}

export const invitationRoutes: readonly RouteDraft[] = [
  ...invitations.routes(),
  // Not part of the collection: creation has its own order of checks, and ended invitations stay readable.
  route('POST', INVITATIONS, {
    auth: action('boundaries/invitations/create'),
    further: GRANT_RIGHTS,
    summary: 'Invite a person to a role by mail',
    body: CreateInvitationRequest,
    reply: InvitationDto,
    handler: createInvitation,
  }),
  route('DELETE', `${INVITATIONS}/{invitationId}`, {
    auth: action('boundaries/invitations/create'),
    summary: 'Revoke an invitation',
    handler: revokeInvitation,
  }),
  route('POST', `${INVITATIONS}/{invitationId}/resend`, {
    auth: action('boundaries/invitations/create'),
    isHeld: true,
    further: GRANT_RIGHTS,
    summary: 'Send an invitation again, with a new link',
    reply: InvitationDto,
    handler: resendInvitation,
  }),
  route('GET', '/invitations/password-policy', {
    auth: anonymous,
    summary: 'The rules for a password',
    reply: PasswordPolicyDto,
    handler: async ({ services }) => ok(passwordPolicyDto(await services.accounts.passwordRules())),
  }),
  route('GET', '/invitations/{token}', {
    auth: anonymous,
    summary: 'The invitation that a link is for',
    reply: PublicInvitationDto,
    handler: showInvitation,
  }),
  route('POST', '/invitations/{token}/set-password', {
    auth: anonymous,
    summary: 'Create the account of an invited person',
    body: SetInvitationPasswordRequest,
    reply: InvitationSignInDto,
    handler: setInvitationPassword,
  }),
  route('POST', '/invitations/accept', {
    auth: authenticated,
    summary: 'Accept an invitation and get its role',
    body: AcceptInvitationRequest,
    reply: InvitationAcceptedDto,
    handler: acceptInvitation,
  }),
]
