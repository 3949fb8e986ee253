import type { RegistryPort } from '../../adapters/registry/port.ts'
import { auditEntry, type RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { boundaryScope, isAllowedNow } from '../callers/visibility.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { asking } from '../http/route.ts'
import { BUILD } from '../resources/deployments/reporters.ts'

/** Whom credentials are of. */
export type RegistryCaller = Pick<Caller, 'principalId' | 'principalType'> & {
  readonly principalUid?: Caller['principalUid'] | undefined
}

/** Who shows credentials to the token endpoint: not in a header of ours, but as a docker client does. */
export interface RegistrySignIn {
  /** The bearer of an access token, and when it expires; undefined if it is not good. */
  byToken(token: string): Promise<(RegistryCaller & Partial<Pick<Caller, 'expiresAt'>>) | undefined>
  /** A service account with its secret, from an address; undefined if they do not belong together. */
  byClient(clientId: string, secret: string, address: string): Promise<RegistryCaller | undefined>
  /** Whether who was given something is still there and enabled. */
  stands(principal: RegistryCaller): Promise<boolean>
}

export type RegistryService = Omit<RegistryPort, 'grace' | 'seesPushes'> & {
  /** What tokens are for, as the registry calls itself. */
  readonly service: string
  readonly signIn: RegistrySignIn
  /** What notifications must show: else anybody could tell what was pushed. */
  readonly notifySecret: string
}

declare module '../http/context.ts' {
  interface Services {
    /** Undefined where none is configured. */
    readonly registry: RegistryService | undefined
  }
}

/** @throws PlatformError ENGINE_MISSING */
export function registryOf({ registry }: Services): RegistryService {
  if (registry !== undefined) return registry
  const message = 'This platform has no registry: an administrator must set registryUrl and the files of its authority.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'registry' })
}

/** Of an entry: the actor is the caller, the boundary that of the repository, and so on, unless it says otherwise. */
type Told = Partial<Omit<RegistryAuditEntry, 'action' | 'outcome'>>

/** Puts down what is about to be answered. @throws PlatformError SERVICE_UNAVAILABLE if it cannot be kept */
export async function record(
  context: Context,
  action: RegistryAuditEntry['action'],
  ...all: readonly Told[]
): Promise<void> {
  const { services, address: remoteAddress, correlationId } = context
  const entries = all.map(({ actor = context.caller.principalId, ...told }) =>
    auditEntry(services.clock.now(), { action, actor, remoteAddress, correlationId, ...told }),
  )
  try {
    await registryOf(services).audit.append(entries, { isMinor: action === 'Refused' })
  } catch (cause) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The audit of the registry cannot be written.', {}, { cause })
  }
}

/** Puts down a refusal: one that cannot be kept is a refusal all the same. */
export function recordRefusal(context: Context, told: Told): Promise<void> {
  return record(context, 'Refused', told).catch(() => undefined)
}

/** The declaration of routes that call `requireBuilder`. */
export const builder = asking(`the action \`${BUILD}\` at the boundary that the request names`)

/** @throws PlatformError FORBIDDEN, put down as a refusal, for whoever may not build for the boundary, or at a place in it */
export async function requireBuilder(
  context: Context,
  told: Told & { boundary: string; detail: string },
  scope = boundaryScope(told.boundary),
): Promise<void> {
  const { services, caller } = context
  if (await isAllowedNow(services, caller.principalId, BUILD, scope)) return
  await recordRefusal(context, { ...told, detail: `${told.detail}: ${BUILD} is missing at ${scope}` })
  throw permissionMissing(BUILD, scope)
}
