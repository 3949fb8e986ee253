import { randomUUID } from 'node:crypto'
import type { RegistryPort } from '../../adapters/registry/port.ts'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import { PlatformError } from '../../core/errors.ts'
import type { Caller, Context, Services } from '../http/context.ts'

/** Who shows credentials to the token endpoint: not in a header of ours, but as a docker client does. */
export interface RegistrySignIn {
  /** The bearer of an access token; undefined if it is not good. */
  byToken(token: string): Promise<Caller | undefined>
  /** A service account with its secret, from an address; undefined if they do not belong together. */
  byClient(clientId: string, secret: string, address: string): Promise<Caller | undefined>
  /** Whether who was given something is still there and enabled. */
  stands(
    principal: Pick<Caller, 'principalId' | 'principalUid'> & { principalType: Caller['principalType'] },
  ): Promise<boolean>
}

export type RegistryService = Omit<RegistryPort, 'grace'> & {
  /** What tokens are for, as the registry calls itself. */
  readonly service: string
  readonly signIn: RegistrySignIn
  /** What notifications must show; undefined takes any. */
  readonly notifySecret: string | undefined
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
  const message = 'This platform has no registry: an administrator sets registryUrl and the files of its authority.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'registry' })
}

type Told = Omit<RegistryAuditEntry, 'id' | 'timestamp' | 'remoteAddress' | 'correlationId'>

/** Puts down what is about to be answered. @throws PlatformError SERVICE_UNAVAILABLE if it cannot be kept */
export function record(context: Context, ...entries: readonly Told[]): Promise<void> {
  return keep(context, entries, {})
}

async function keep(context: Context, entries: readonly Told[], how: { isMinor?: boolean }): Promise<void> {
  const { services, address: remoteAddress, correlationId } = context
  const at = new Date(services.clock.now()).toISOString()
  const whole = entries.map((entry) => ({ id: randomUUID(), timestamp: at, remoteAddress, correlationId, ...entry }))
  try {
    await registryOf(services).audit.append(whole, how)
  } catch (cause) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The audit of the registry cannot be written.', {}, { cause })
  }
}

/** Puts down a refusal: one that cannot be kept is a refusal all the same. */
export function recordRefusal(context: Context, entry: Omit<Told, 'action' | 'outcome'>): Promise<void> {
  return keep(context, [{ ...entry, action: 'Refused', outcome: 'Refused' }], { isMinor: true }).catch(() => undefined)
}

/** @throws PlatformError the one that is given, once it is put down */
export async function refuse(
  context: Context,
  entry: Omit<Told, 'action' | 'outcome'>,
  error: PlatformError,
): Promise<never> {
  await recordRefusal(context, entry)
  throw error
}
