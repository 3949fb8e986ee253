import { AuditShareError } from '../../adapters/audit/port.ts'
import type { Credential, RegistryPort } from '../../adapters/registry/port.ts'
import { auditEntry, type RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import { DAY_MS } from '../../core/clock.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { boundaryScope, isAllowedNow } from '../callers/visibility.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { checkedByHandler } from '../http/route.ts'
import { BUILD_ACTION } from '../resources/deployments/reporters.ts'
import type { BoundarySpace } from './space.ts'

/** A signed-in principal. Credentials derived from a token that expires must not outlive it. */
export type RegistryCaller = Pick<Caller, 'principalType'> &
  Pick<Credential, 'principalId' | 'principalUid' | 'secretDigest'> & { readonly expiresAt?: number | undefined }

/** Authenticates clients of the token endpoint, which send credentials like a docker client. */
export interface RegistrySignIn {
  /** Returns the bearer of an access token and its expiry; undefined if the token is invalid. */
  byToken(token: string): Promise<RegistryCaller | undefined>
  /** Returns a service account by its secret, with a limit per address; undefined if the secret is wrong. */
  byClient(clientId: string, secret: string, address: string): Promise<RegistryCaller | undefined>
  /** Returns whether the principal of a credential still exists, is enabled and has the secret that it was issued for. */
  stands(principal: RegistryCaller): Promise<boolean>
}

export type RegistryService = Omit<RegistryPort, 'grace' | 'seesPushes'> & {
  /** The audience of tokens: the registry's name for itself. */
  readonly service: string
  readonly signIn: RegistrySignIn
  readonly space: Pick<BoundarySpace, 'refuseIfFull'>
  /** The secret of notifications, without which anybody could claim a push. */
  readonly notifySecret: () => string
}

declare module '../http/context.ts' {
  interface Services {
    /** Undefined if none is configured. */
    readonly registry: RegistryService | undefined
  }
}

/** @throws PlatformError ENGINE_MISSING */
export function registryOf({ registry }: Services): RegistryService {
  if (registry !== undefined) return registry
  const message = 'This platform has no registry: an administrator must set registryUrl and the files of its authority.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'registry' })
}

/** Fields of an audit entry. By default the actor is the caller, the boundary that of the repository, and so on. */
type AuditFields = Partial<Omit<RegistryAuditEntry, 'action' | 'outcome'>>

/**
 * Audits an action before it is answered.
 * @throws PlatformError SERVICE_UNAVAILABLE if the entry cannot be stored; TOO_MANY_REQUESTS if its boundary has no room
 */
export async function auditAction(
  context: Context,
  action: RegistryAuditEntry['action'],
  ...all: readonly AuditFields[]
): Promise<void> {
  const { services, address: remoteAddress, correlationId } = context
  const entries = all.map(({ actor = context.caller.principalId, ...fields }) =>
    auditEntry(services.clock.now(), { action, actor, remoteAddress, correlationId, ...fields }),
  )
  try {
    await registryOf(services).audit.append(entries, { isMinor: action === 'Refused' })
  } catch (cause) {
    if (cause instanceof AuditShareError) throw shareUsedUp(services.clock.now(), cause)
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The audit of the registry cannot be written.', {}, { cause })
  }
}

function shareUsedUp(now: number, cause: AuditShareError): PlatformError {
  const message =
    'This boundary has used up its share of the audit of the registry for today (UTC): pull and push less often.'
  const retryAfterSeconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000)
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds }, { cause })
}

/** Whether an action was not audited only because of its own boundary. */
export const isShareUsedUp = (error: unknown): boolean =>
  error instanceof PlatformError && error.cause instanceof AuditShareError

/** Audits a refusal. If that fails, the request is refused all the same. */
export function auditRefusal(context: Context, fields: AuditFields): Promise<void> {
  return auditAction(context, 'Refused', fields).catch(() => undefined)
}

/** The authorization of routes that call `requireBuilder`. */
export const builderAuth = checkedByHandler(`the action \`${BUILD_ACTION}\` at the boundary that the request names`)

/** @throws PlatformError FORBIDDEN, which is audited, if the caller may not build for the boundary or at the scope */
export async function requireBuilder(
  context: Context,
  fields: AuditFields & { boundary: string; detail: string },
  scope = boundaryScope(fields.boundary),
): Promise<void> {
  const { services, caller } = context
  if (await isAllowedNow(services, caller.principalId, BUILD_ACTION, scope)) return
  await auditRefusal(context, { ...fields, detail: `${fields.detail}: ${BUILD_ACTION} is missing at ${scope}` })
  throw permissionMissing(BUILD_ACTION, scope)
}
