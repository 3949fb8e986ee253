import { DAY_MS } from '../core/clock.ts'
import { pluralize } from '../core/pluralize.ts'
import type { MemberInvitation } from '../crds/invitations.ts'

/**
 * The lifecycle of an invitation (interface sections 3, 7 and 8), without I/O: what is allowed now, and the error code
 * if it is not. Times are milliseconds since the epoch.
 */
export type InvitationState = MemberInvitation['spec']['state']

/** The fields that the rules read. */
export type InvitationFacts = Pick<
  MemberInvitation['spec'],
  'state' | 'expiresAt' | 'hasAccount' | 'resendCount' | 'lastSentAt' | 'expiryAnswered'
>

export type InvitationCode =
  | 'already_accepted'
  | 'already_revoked'
  | 'resend_limit'
  | 'email_not_verified'
  | 'email_mismatch'
  | 'expired'
  | 'invalid_state'

export type InvitationRefusal = { readonly code: InvitationCode; readonly message: string }

export type ResendLimits = {
  /** The number of resends that are always allowed. */
  readonly immediate: number
  /** After those, the minimum number of milliseconds between resends. */
  readonly interval: number
}
export const RESEND_LIMITS: ResendLimits = { immediate: 3, interval: DAY_MS }

function refuse(code: InvitationCode, message: string): InvitationRefusal {
  return { code, message }
}

export function isInvitationOpen(state: InvitationState): boolean {
  return state === 'Pending' || state === 'AwaitingLogin'
}

/** Returns the current state: an open invitation past its expiry is Expired even if nobody has stored that yet. */
export function invitationStateAt({ state, expiresAt }: InvitationFacts, now: number): InvitationState {
  return isInvitationOpen(state) && now >= Date.parse(expiresAt) ? 'Expired' : state
}

/** For DELETE. An expired invitation may be revoked, because nobody accepted it. */
export function revokeRefusalOf({ state }: InvitationFacts): InvitationRefusal | undefined {
  if (state === 'Accepted') return refuse('already_accepted', 'The invitation has already been accepted.')
  if (state === 'Revoked') return refuse('already_revoked', 'The invitation has already been revoked.')
  return undefined
}

/** Returns when the next resend is allowed; undefined if one is allowed now, or if none will ever be. */
export function nextResendAt(
  facts: InvitationFacts,
  now: number,
  limits: ResendLimits = RESEND_LIMITS,
): number | undefined {
  if (
    !isInvitationOpen(invitationStateAt(facts, now)) ||
    facts.resendCount < limits.immediate ||
    facts.lastSentAt === undefined
  )
    return undefined
  const next = Date.parse(facts.lastSentAt) + limits.interval
  return next > now ? next : undefined
}

export function resendRefusalOf(
  facts: InvitationFacts,
  now: number,
  limits: ResendLimits = RESEND_LIMITS,
): InvitationRefusal | undefined {
  const state = invitationStateAt(facts, now)
  if (!isInvitationOpen(state)) return refuse('invalid_state', `The invitation is ${state}: it cannot be sent again.`)
  const next = nextResendAt(facts, now, limits)
  if (next === undefined) return undefined
  const when = new Date(next).toISOString()
  return refuse(
    'resend_limit',
    `The invitation was sent again ${pluralize(facts.resendCount, 'time')}: you can send it again from ${when}.`,
  )
}

/**
 * The first call after the expiry is refused with `expired`, whoever stored the state; later calls with
 * `invalid_state`. The caller stores that `expired` was answered.
 */
function refuseClosed(facts: InvitationFacts, now: number): InvitationRefusal | undefined {
  const state = invitationStateAt(facts, now)
  if (isInvitationOpen(state)) return undefined
  if (state === 'Expired' && !facts.expiryAnswered)
    return refuse('expired', `The invitation expired at ${facts.expiresAt}: ask for a new one.`)
  return refuse('invalid_state', `The invitation is ${state}.`)
}

/** Decides set-password after the token check. `isRepeat`: the password was already set, answer the same again. */
export function decideSetPassword(
  facts: InvitationFacts,
  now: number,
): { refusal: InvitationRefusal } | { refusal: undefined; isRepeat: boolean } {
  const over = refuseClosed(facts, now)
  if (over !== undefined) return { refusal: over }
  if (facts.hasAccount) {
    const message = 'The invited address has an account: sign in with it and accept.'
    return { refusal: refuse('invalid_state', message) }
  }
  return { refusal: undefined, isRepeat: facts.state === 'AwaitingLogin' }
}

/** The account that accepts an invitation. */
export type Acceptor = { readonly email: string | undefined; readonly emailVerified: boolean }

/** Checked before the token. An account without an address is left to `acceptRefusalOf`: it does not match. */
export function unverifiedRefusalOf({ email, emailVerified }: Acceptor): InvitationRefusal | undefined {
  if (email === undefined || emailVerified) return undefined
  return refuse('email_not_verified', 'The e-mail address of your account is not verified yet.')
}

/** Decides acceptance after the token check. Callers who were not invited learn nothing about the state. */
export function acceptRefusalOf(
  facts: InvitationFacts & Pick<MemberInvitation['spec'], 'email'>,
  acceptor: Acceptor,
  now: number,
): InvitationRefusal | undefined {
  if (acceptor.email === undefined || !isSameAddress(acceptor.email, facts.email)) {
    return refuse('email_mismatch', 'The invitation is for a different e-mail address than the one of your account.')
  }
  const over = refuseClosed(facts, now)
  if (over !== undefined) return over
  if (facts.hasAccount || facts.state === 'AwaitingLogin') return undefined
  return refuse('invalid_state', 'The invitation is for a new account: set its password first.')
}

/** Compares addresses case-insensitively. */
export function isSameAddress(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase()
}
