import { z } from 'zod'
import { type Connection, Repository, RepositoryToken, SourceError, Webhook } from '../../adapters/sources/port.ts'
import type { Provider } from '../../contracts/sources/providers.ts'
import { sendsWebhooks } from '../../contracts/sources/signatures.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { createdAtOf } from '../../core/object.ts'
import { NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { type Check, check, healthReport } from '../resources/healthReport.ts'
import { connectionOf, translateProviderErrors, webhookSecretOf, webhookUrlOf } from './connection.ts'
import {
  findInstallation,
  findSource,
  type InstallationContext,
  requireSourceNotDeleting,
  type SourceContext,
  type SourceRecord,
  type SourceTypeContext,
  sourceStateOf,
  sourcesOfType,
} from './record.ts'

export const InstallationDto = namedRecord('Installation', {
  installationId: z.string(),
  deploymentSourceId: Uuid,
  accountName: z.string(),
  accountType: z.enum(['User', 'Organization']),
  avatarUrl: z.string().nullable(),
  repositorySelection: z.enum(['All', 'Selected']),
  permissions: z.record(z.string(), z.string()),
  suspendedAt: DateTime.nullable(),
  createdAt: DateTime,
})
type InstallationDto = z.output<typeof InstallationDto>

export const RepositoryDto = Repository.extend({ pushedAt: DateTime.nullable() }).meta({ id: 'Repository' })

export const WebhookStateDto = namedRecord('WebhookStateDto', {
  repositoryId: z.string(),
  ...Webhook.shape,
  lastDeliveryAt: DateTime.nullable(),
})

export const RepositoryTokenDto = RepositoryToken.extend({ expiresAt: DateTime.nullable() }).meta({
  id: 'RepositoryTokenDto',
})

export const RepositoriesQuery = z.strictObject({
  search: z.string().min(1).max(128).optional().describe('Text that the name must contain'),
})

/** Returns installations from the status; the provider is not queried. */
export async function installationsOf(context: SourceTypeContext): Promise<InstallationDto[]> {
  return (await sourcesOfType(context))
    .filter((source) => sourceStateOf(source) !== 'AwaitingInstall' && source.metadata.deletionTimestamp === undefined)
    .map(installationOf)
}

function installationOf({ metadata, spec, status }: SourceRecord): InstallationDto {
  return wholeRecord(InstallationDto, {
    repositorySelection: 'All',
    permissions: {},
    ...status?.installation,
    createdAt: status?.installation?.createdAt ?? createdAtOf(metadata),
    installationId: spec.installationId ?? metadata.name,
    deploymentSourceId: metadata.name,
    accountName: status?.accountName ?? spec.organization ?? spec.username ?? '',
    accountType: status?.accountType ?? (spec.organization === undefined ? 'User' : 'Organization'),
  })
}

type OfRepository = Context<'boundaryId' | 'sourceName' | 'installationId' | 'repositoryId'>

export async function listRepositories(context: InstallationContext<z.output<typeof RepositoriesQuery>>) {
  const connection = await connectionOf(context.services, await findInstallation(context))
  const { port } = context.services.sources
  return ok(await translateProviderErrors(port.repositories(connection, context.query.search, context.signal)))
}

/** @throws PlatformError source-unknown, INVALID_STATE, webhooks-not-supported, missing-credential */
export async function ensureWebhook(context: OfRepository) {
  const { services, signal } = context
  const { repositoryId } = context.parameters
  const source = await findInstallation(context)
  await requireSourceNotDeleting(context, source)
  const connection = await connectionOf(services, source)
  const secret = webhookSecretOf(connection.credentials)
  if (secret === '' && sendsWebhooks(source.spec.provider)) {
    const message = 'The Secret of the source has no webhook-secret, so deliveries cannot be verified: add one.'
    throw new PlatformError('missing-credential', message)
  }
  const url = webhookUrlOf(services, source)
  const state = await translateProviderErrors(
    services.sources.port.ensureWebhook(connection, repositoryId, { url, secret }, signal),
  )
  return ok({ repositoryId, ...state })
}

const TOKEN_CODES = { Unsupported: 'tokens-not-supported' } as const

export async function issueToken(context: OfRepository) {
  const { services, signal, parameters } = context
  const source = await findInstallation(context)
  await requireSourceNotDeleting(context, source)
  if (sourceStateOf(source) === 'Disabled')
    throw new PlatformError('INVALID_STATE', 'The source is disabled: it issues no tokens.', {
      status: 'Disabled',
      phase: null,
    })
  const connection = await connectionOf(services, source)
  const token = await translateProviderErrors(
    services.sources.port.token(connection, parameters.repositoryId, signal),
    TOKEN_CODES,
  )
  return ok(token, { headers: NO_STORE })
}

/** GET {B}/sources/{sourceName}/{deploymentSourceId}/health: queries the provider now. */
export async function sourceHealth(context: SourceContext) {
  const { services } = context
  const source = await findSource(context)
  const observedAt = timestamp(services.clock.now())
  const connection = await connectionOf(services, source).catch((error: unknown) => {
    if (error instanceof PlatformError && error.status < 500) return undefined
    throw error
  })
  return ok(
    healthReport(observedAt, [
      ...(connection === undefined ? unchecked(ADDRESS_FORBIDDEN) : await runChecks(context as Context, connection)),
      webhookCheck(source.spec.provider, webhookSecretOf(connection?.credentials ?? {})),
    ]),
  )
}

const ADDRESS_FORBIDDEN = check('Reachable', 'Unhealthy', 'The platform is not allowed to call its address.')

/** Returns the checks of a provider that was not queried or does not answer. */
const unchecked = (reachable: Check): Check[] => [
  reachable,
  check('Credential', 'Unknown'),
  check('Permissions', 'Unknown'),
]

function webhookCheck(provider: Provider, secret: string): Check {
  if (!sendsWebhooks(provider)) return check('Webhook', 'Unknown', 'A source of this type sends no deliveries.')
  if (secret !== '') return check('Webhook', 'Healthy')
  return check('Webhook', 'Degraded', 'There is no secret to verify deliveries with.')
}

async function runChecks({ services, signal }: Context, connection: Connection): Promise<Check[]> {
  const { clock, sources } = services
  const start = clock.monotonic()
  const reachableCheck = (status: Check['status'], message: string | null = null) =>
    check('Reachable', status, message, Math.round(clock.monotonic() - start))
  try {
    const { installation } = await sources.port.check(connection, signal)
    const isSuspended = installation?.suspendedAt !== undefined
    return [
      reachableCheck('Healthy'),
      check('Credential', 'Healthy'),
      isSuspended
        ? check('Permissions', 'Unhealthy', 'The provider has suspended the installation.')
        : check('Permissions', 'Healthy'),
    ]
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const isReachable = error.reason === 'CredentialRejected' || error.reason === 'NotFound'
    if (!isReachable) return unchecked(reachableCheck('Unhealthy', error.message))
    return [reachableCheck('Healthy'), check('Credential', 'Unhealthy', error.message), check('Permissions', 'Unknown')]
  }
}
