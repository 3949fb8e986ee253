import { z } from 'zod'
import type { UserRecord } from '../../adapters/identity/port.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { anonymous, authenticated, type RouteDraft, route } from '../http/route.ts'
import { requireGoodPassword } from '../people/accounts.ts'
import {
  ChangePasswordRequest,
  PasswordChangedDto,
  PasswordPolicyDto,
  PasswordResetConfirmRequest,
  PasswordResetLinkDto,
  PasswordResetRequest,
  PasswordResetResult,
  passwordPolicyDto,
} from '../people/passwordRecord.ts'
import { confirmReset, endResets, requestReset, showReset } from './reset.ts'

/** The maximum age of the sign-in, in milliseconds (interface section 8). */
const SIGN_IN_AGE_MAX_MS = 300_000

/**
 * POST /identity/change-password.
 *
 * @throws PlatformError unknown_user, not_locally_authenticated, reauth_required, password_policy, in this order
 */
async function changePassword(context: Context<string, unknown, z.output<typeof ChangePasswordRequest>>) {
  const { services, caller, body } = context
  const { users } = services.accounts
  const isPerson = caller.principalType === 'User'
  const user = isPerson ? await users.find(caller.principalId) : undefined
  if (isPerson && user === undefined)
    throw new PlatformError('unknown_user', 'The access token names no user of this platform.', {}, { status: 401 })
  if (user === undefined || user.isExternal || !(await users.hasLocalPassword(user.id))) {
    const message = 'The password of the account is managed elsewhere: change it there.'
    throw new PlatformError('not_locally_authenticated', message)
  }
  const now = services.clock.now()
  if (caller.authTime === undefined || now - caller.authTime > SIGN_IN_AGE_MAX_MS)
    throw new PlatformError('reauth_required', 'Sign in again first: the last sign-in is more than 5 minutes ago.')
  await setPassword(services, user, body.password, caller.sessionId)
  return ok({ changedAt: timestamp(now) })
}

type PasswordServices = Pick<Services, 'accounts' | 'records'>

/** @throws PlatformError password_policy */
async function setPassword(
  services: PasswordServices,
  user: UserRecord,
  password: string,
  keepSession: string | undefined,
) {
  await requireGoodPassword(services.accounts, password, user.email)
  await endResets(services, user.id)
  await services.accounts.users.setPassword(user.id, password, { keepSession })
}

/** For the account page of the identity provider; returns why a password is refused. */
export function accountPagePasswordChange(services: PasswordServices) {
  return async ({ id }: { id: string }, password: string, keepSession: string | undefined) => {
    const user = await services.accounts.users.find(id)
    if (user === undefined) return 'The account no longer exists.'
    try {
      await setPassword(services, user, password, keepSession)
      return undefined
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'password_policy') return error.message
      throw error
    }
  }
}

export const passwordRoutes: readonly RouteDraft[] = [
  route('GET', '/identity/password-policy', {
    auth: anonymous,
    summary: 'The rules for a password',
    reply: PasswordPolicyDto,
    handler: async ({ services }) => ok(passwordPolicyDto(await services.accounts.passwordRules())),
  }),
  route('POST', '/identity/password-reset', {
    auth: anonymous,
    summary: 'Ask for a link to choose a new password; the answer is the same for every address',
    body: PasswordResetRequest,
    reply: z.object({}),
    handler: requestReset,
  }),
  route('GET', '/identity/password-reset/{token}', {
    auth: anonymous,
    summary: 'Whether the link of a password reset can be used',
    reply: PasswordResetLinkDto,
    handler: showReset,
  }),
  route('POST', '/identity/password-reset/{token}', {
    auth: anonymous,
    summary: 'Set a new password with the link of a reset',
    body: PasswordResetConfirmRequest,
    reply: PasswordResetResult,
    handler: confirmReset,
  }),
  route('POST', '/identity/change-password', {
    auth: authenticated,
    summary: "Change one's own password, shortly after signing in",
    answersUnknownCallers: true,
    body: ChangePasswordRequest,
    reply: PasswordChangedDto,
    handler: changePassword,
  }),
]
