import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { UserRecord } from '../../adapters/identity/port.ts'
import { addressKey } from '../../core/addressKey.ts'
import { timestamp } from '../../core/clock.ts'
import { goneAs, ignoreNotFound, notFound, PlatformError } from '../../core/errors.ts'
import { newLinkToken, readLinkToken } from '../../core/linkToken.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { isSameText } from '../../core/sameText.ts'
import { PasswordReset } from '../../crds/invitations.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { requireGoodPassword } from '../people/accounts.ts'
import { resetMail } from '../people/mails.ts'
import { maskedAddress, type PasswordResetConfirmRequest, type PasswordResetRequest } from '../people/passwordRecord.ts'
import type { RecordOf } from '../records/records.ts'

const RESET_TTL_MS = 3_600_000
const namespace = SYSTEM_NAMESPACE
type ResetRecord = RecordOf<typeof PasswordReset>

/**
 * POST /identity/password-reset. Answers before looking up the address, so that neither content nor timing reveals
 * whether there is an account.
 * @throws PlatformError REQUEST_FAILED for too many requests from one client
 */
export function requestReset(context: Context<string, unknown, z.output<typeof PasswordResetRequest>>) {
  const { services, body, address } = context
  const { accounts } = services
  const retryAfterSeconds = accounts.resetsPerClient.take(addressKey(address))
  if (retryAfterSeconds !== undefined) {
    const message = 'Too many password resets were requested from this address.'
    throw new PlatformError('REQUEST_FAILED', message, { retryAfterSeconds })
  }
  const email = body.email.trim()
  if (accounts.resetsPerAddress.take(email.toLowerCase().slice(0, 254)) === undefined)
    accounts.outbox.later('password reset', () => sendReset(services, email))
  return accepted({})
}

async function sendReset(services: Services, email: string): Promise<void> {
  const { accounts, records, clock, log } = services
  const user = await accounts.users.findByEmail(email)
  if (user?.email === undefined || !user.isEnabled || user.isExternal) return
  if (!accounts.outbox.isConfigured) {
    log.warn({ userId: user.id }, 'A password reset was asked for, but no mail is configured.')
    return
  }
  const id = randomUUID()
  const { token, hash } = newLinkToken([id])
  const expiresAt = timestamp(clock.now() + RESET_TTL_MS)
  const spec = { userId: user.id, email: user.email, tokenHash: hash, expiresAt }
  await records.create(PasswordReset, { namespace, name: id, spec, caller: callerFor(user.id) })
  const link = `${accounts.linkBase}/identity/password-reset/${token}`
  accounts.outbox.send(resetMail(user.email, link, expiresAt))
}

function callerFor(userId: string): Caller {
  return { principalId: userId, principalType: 'User', expiresAt: 0 }
}

/** Returns undefined for links that are malformed, unknown or used. */
async function findReset({ records }: Services, token: string, fresh: boolean): Promise<ResetRecord | undefined> {
  const read = readLinkToken(token, 1)
  const [name] = read?.ids ?? []
  if (read === undefined || name === undefined) return undefined
  const found = await records.get(PasswordReset, { namespace, name }, { fresh })
  if (found === undefined || found.spec.usedAt !== undefined) return undefined
  return isSameText(found.spec.tokenHash, read.hash) ? found : undefined
}

function isExpired({ clock }: Services, { spec }: ResetRecord): boolean {
  return Date.parse(spec.expiresAt) <= clock.now()
}

/** Deletes the open reset links of a person whose password has changed. */
export async function endResets(
  { records }: Pick<Services, 'records'>,
  userId: string,
  except?: string,
): Promise<void> {
  const all = await records.list(PasswordReset, { namespace }, { fresh: true })
  const open = all.filter(({ metadata, spec }) => spec.userId === userId && metadata.name !== except)
  for (const { metadata } of open) {
    const ref = { namespace, name: metadata.name }
    await records.remove(PasswordReset, ref, { caller: callerFor(userId) }).catch(ignoreNotFound)
  }
}

/** GET /identity/password-reset/{token}. @throws PlatformError NOT_FOUND if the link can no longer be used */
export async function showReset({ services, parameters }: Context<'token'>) {
  const found = await findReset(services, parameters.token, false)
  if (found === undefined || isExpired(services, found)) throw notFound('The link')
  return ok({ email: maskedAddress(found.spec.email), expiresAt: found.spec.expiresAt })
}

/**
 * POST /identity/password-reset/{token}. Marks the link as used before setting the password, so that of two concurrent
 * calls one is refused. An interrupted call has used up the link; the person requests another.
 * @throws PlatformError not_found, expired, password_policy
 */
export async function confirmReset(context: Context<'token', unknown, z.output<typeof PasswordResetConfirmRequest>>) {
  const { services, body, parameters } = context
  const { users, signInUrl } = services.accounts
  const found = await findReset(services, parameters.token, true)
  if (found === undefined) throw unknown()
  if (isExpired(services, found)) throw new PlatformError('expired', 'The link has expired: ask for a new one.')
  const { userId, email } = found.spec
  const user = await users.find(userId)
  // The address may belong to somebody else by now, and the id to a recreated account.
  const isSameAccount = user?.email?.toLowerCase() === email.toLowerCase() && !isCreatedAfter(user, found)
  if (user === undefined || !user.isEnabled || user.isExternal || !isSameAccount) throw unknown()
  await requireGoodPassword(services.accounts, body.password, user.email)
  const ref = { namespace, name: found.metadata.name }
  const use = services.records.update(PasswordReset, ref, {
    caller: callerFor(userId),
    isOnce: true,
    change: ({ spec }) => {
      if (spec.usedAt !== undefined) throw unknown()
      return { ...spec, usedAt: timestamp(services.clock.now()) }
    },
  })
  await use.catch(goneAs(unknown))
  await endResets(services, userId, found.metadata.name)
  await users.setPassword(userId, body.password)
  // The link was sent to the address, so the address is verified.
  if (!user.emailVerified) await users.update(userId, { emailVerified: true })
  return ok({ signInUrl })
}

function isCreatedAfter({ createdAt }: UserRecord, { metadata }: ResetRecord): boolean {
  // The API server stores creation times in seconds.
  return Math.floor(createdAt / 1000) * 1000 > Date.parse(metadata.creationTimestamp ?? '')
}

function unknown(): PlatformError {
  return new PlatformError('not_found', 'The link is not valid, or has already been used.')
}
