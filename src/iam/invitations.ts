import { counted } from '../core/counted.ts'
import type { MemberInvitation } from '../crds/invitations.ts'

/**
 * The life of an invitation (interface sections 3, 7 and 8), without I/O: what may be done with one now, and which code
 * answers where it may not. Times are milliseconds since the epoch.
 */
export type InvitationState = MemberInvitation['spec']['state']

/** What the rules look at. */
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

export type Refusal = { readonly code: InvitationCode; readonly message: string }

export type ResendLimits = {
  /** So many are always allowed. */
  readonly free: number
  /** After them, one whenever so many milliseconds have passed since the last. */
  readonly interval: number
}
export const RESEND_LIMITS: ResendLimits = { free: 3, interval: 24 * 3_600_000 }

function refuse(code: InvitationCode, message: string): Refusal {
  return { code, message }
}

export function isOpen(state: InvitationState): boolean {
  return state === 'Pending' || state === 'AwaitingLogin'
}

/** The state as of now: what is open and past its time is Expired, whether or not somebody wrote that yet. */
export function stateAt({ state, expiresAt }: InvitationFacts, now: number): InvitationState {
  return isOpen(state) && now >= Date.parse(expiresAt) ? 'Expired' : state
}

/** DELETE. An expired invitation may be revoked: nothing was taken. */
export function refuseRevoke({ state }: InvitationFacts): Refusal | undefined {
  if (state === 'Accepted') return refuse('already_accepted', 'The invitation has already been accepted.')
  if (state === 'Revoked') return refuse('already_revoked', 'The invitation has already been revoked.')
  return undefined
}

/** When the next resend is allowed; undefined while one is allowed now, or none ever will be. */
export function nextResendAt(
  facts: InvitationFacts,
  now: number,
  limits: ResendLimits = RESEND_LIMITS,
): number | undefined {
  if (!isOpen(stateAt(facts, now)) || facts.resendCount < limits.free || facts.lastSentAt === undefined)
    return undefined
  const next = Date.parse(facts.lastSentAt) + limits.interval
  return next > now ? next : undefined
}

export function refuseResend(
  facts: InvitationFacts,
  now: number,
  limits: ResendLimits = RESEND_LIMITS,
): Refusal | undefined {
  const state = stateAt(facts, now)
  if (!isOpen(state)) return refuse('invalid_state', `The invitation is ${state}: it cannot be sent again.`)
  const next = nextResendAt(facts, now, limits)
  if (next === undefined) return undefined
  const when = new Date(next).toISOString()
  return refuse(
    'resend_limit',
    `The invitation was sent again ${counted(facts.resendCount, 'time')}: you can send it again from ${when}.`,
  )
}

/**
 * The first call after the expiry is told so, whoever wrote the state; later ones are told of the state. The caller
 * notes that it was told.
 */
function refuseOver(facts: InvitationFacts, now: number): Refusal | undefined {
  const state = stateAt(facts, now)
  if (isOpen(state)) return undefined
  if (state === 'Expired' && !facts.expiryAnswered)
    return refuse('expired', `The invitation expired at ${facts.expiresAt}: ask for a new one.`)
  return refuse('invalid_state', `The invitation is ${state}.`)
}

/** Set-password, past the token. `isRepeat`: the password was set before, the same answer is given again. */
export function decideSetPassword(
  facts: InvitationFacts,
  now: number,
): { refusal: Refusal } | { refusal: undefined; isRepeat: boolean } {
  const over = refuseOver(facts, now)
  if (over !== undefined) return { refusal: over }
  if (facts.hasAccount) {
    const message = 'The invited address has an account: sign in with it and accept.'
    return { refusal: refuse('invalid_state', message) }
  }
  return { refusal: undefined, isRepeat: facts.state === 'AwaitingLogin' }
}

/** An account as accepting sees it. */
export type Acceptor = { readonly email: string | undefined; readonly emailVerified: boolean }

/** Comes before the token is looked at. An account without an address has nothing to verify: it does not match. */
export function refuseUnverified({ email, emailVerified }: Acceptor): Refusal | undefined {
  if (email === undefined || emailVerified) return undefined
  return refuse('email_not_verified', 'The e-mail address of your account is not verified yet.')
}

/** Accept, after the token is checked. A caller who was not invited learns nothing of the state. */
export function refuseAccept(
  facts: InvitationFacts & Pick<MemberInvitation['spec'], 'email'>,
  acceptor: Acceptor,
  now: number,
): Refusal | undefined {
  if (acceptor.email === undefined || !isSameAddress(acceptor.email, facts.email)) {
    return refuse('email_mismatch', 'The invitation is for a different e-mail address than the one of your account.')
  }
  const over = refuseOver(facts, now)
  if (over !== undefined) return over
  if (facts.hasAccount || facts.state === 'AwaitingLogin') return undefined
  return refuse('invalid_state', 'The invitation is for a new account: set its password first.')
}

/** Addresses are compared without regard to case. */
export function isSameAddress(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase()
}
