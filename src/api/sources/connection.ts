import { type Connection, connectionTo, SourceError } from '../../adapters/sources/port.ts'
import {
  CREDENTIAL_KEYS,
  type Credentials,
  secretNameOf,
  sourceNameOf,
  sourceSecretName,
} from '../../contracts/sources/providers.ts'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import { secretTexts } from '../../core/secretData.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import type { Context, Services } from '../http/context.ts'
import { vetSourceUrl } from '../resources/deployments/address.ts'
import { putSecretWithRetry } from '../resources/putSecretWithRetry.ts'
import type { SourceRecord } from './record.ts'

/** Returns the content of a source's Secret; empty if there is none. Read from the API server each time. */
export async function credentialsOf({ sources }: Services, source: SourceRecord): Promise<Credentials> {
  return secretTexts(await sources.secrets.read(source.metadata.namespace ?? '', secretNameOf(source)))
}

/** @throws PlatformError ENGINE_MISSING, URL_NOT_ALLOWED */
export async function connectionOf(services: Services, source: SourceRecord): Promise<Connection> {
  const { provider, baseUrl } = source.spec
  // The token of the platform's own Git host must not be sent to an address that somebody set with kubectl.
  if (provider === 'Circuit') requireCircuit(services, baseUrl)
  else vetSourceUrl(services, baseUrl, 'baseUrl')
  return connectionTo(source, await credentialsOf(services, source))
}

/** @returns the address of the Git host. @throws PlatformError ENGINE_MISSING */
export function requireCircuit({ sources }: Services, baseUrl = sources.circuit.baseUrl): string {
  if (baseUrl !== undefined && baseUrl === sources.circuit.baseUrl) return baseUrl
  const message = 'This platform has no Git host at this address: an administrator must set circuitUrl.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'gitea' })
}

/** Writes entries of the platform's own Secret of a source, and keeps the others. */
export async function writeCredentials(context: Context, source: SourceRecord, entries: Credentials): Promise<void> {
  const { metadata } = source
  const name = sourceSecretName(metadata.name)
  await putSecretWithRetry(
    context,
    context.services.sources.secrets,
    { kind: DeploymentSource, metadata },
    { name, entries },
  )
}

const CODES: Readonly<Record<SourceError['reason'], ErrorCode>> = {
  CredentialRejected: 'credential-rejected',
  NotFound: 'source-unknown',
  NameTaken: 'already-exists',
  NotAllowed: 'URL_NOT_ALLOWED',
  HostKeyRefused: 'upstream-failed',
  Unreachable: 'upstream-failed',
  Unsupported: 'webhooks-not-supported',
}

/** Awaits a call to a provider and translates its error. */
export async function translateProviderErrors<Result>(
  work: Promise<Result>,
  codes: Partial<Record<SourceError['reason'], ErrorCode>> = {},
): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    throw new PlatformError(codes[error.reason] ?? CODES[error.reason], error.message, {}, { cause: error })
  }
}

export function webhookUrlOf({ sources }: Services, { metadata, spec }: SourceRecord): string {
  const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
  return `${sources.baseUrl}/boundaries/${boundaryId}/sources/${sourceNameOf(spec.provider)}/webhooks?source=${metadata.name}`
}

export const webhookSecretOf = (credentials: Credentials): string => credentials[CREDENTIAL_KEYS.webhookSecret] ?? ''
