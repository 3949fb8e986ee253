import { z } from 'zod'
import { type Connection, SourceError } from '../../adapters/sources/port.ts'
import { sourceNameOf } from '../../contracts/sources/providers.ts'
import { sendsWebhooks } from '../../contracts/sources/signatures.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { createdAtOf } from '../../core/object.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { DateTime, type HealthCheckDto, type HealthReportDto, Uuid } from '../resources/dto.ts'
import { asked, connectionOf, webhookSecretOf, webhookUrlOf } from './connection.ts'
import {
  findInstallation,
  findSource,
  type OfInstallation,
  type OfSource,
  type OfType,
  type SourceRecord,
  sourcesOfType,
  stateOf,
} from './record.ts'

export const InstallationDto = z
  .object({
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
  .meta({ id: 'Installation' })
type InstallationDto = z.output<typeof InstallationDto>

export const RepositoryDto = z
  .object({
    id: z.string(),
    name: z.string(),
    fullName: z.string(),
    owner: z.string(),
    url: z.string(),
    cloneUrl: z.string(),
    defaultBranch: z.string(),
    isPrivate: z.boolean(),
    isArchived: z.boolean(),
    description: z.string().nullable(),
    language: z.string().nullable(),
    pushedAt: DateTime.nullable(),
  })
  .meta({ id: 'Repository' })

export const WebhookStateDto = z
  .object({
    repositoryId: z.string(),
    url: z.string(),
    isActive: z.boolean(),
    events: z.array(z.string()),
    lastDeliveryAt: DateTime.nullable(),
    lastDeliveryStatus: z.int().nullable(),
    created: z.boolean().describe('Whether there was none before'),
  })
  .meta({ id: 'WebhookStateDto' })

export const RepositoryTokenDto = z
  .object({
    token: z.string(),
    username: z.string(),
    cloneUrl: z.string(),
    expiresAt: DateTime.nullable(),
    permissions: z
      .record(z.string(), z.string())
      .describe('repositories is "one", or "all" where the provider makes no token for a single repository'),
  })
  .meta({ id: 'RepositoryTokenDto' })

export const RepositoriesQuery = z.strictObject({ search: z.string().min(1).max(128).optional() })

/** What the controller was last told; no provider is asked for a list. */
export async function installationsOf(context: OfType): Promise<InstallationDto[]> {
  return (await sourcesOfType(context))
    .filter((source) => stateOf(source) !== 'AwaitingInstall' && source.metadata.deletionTimestamp === undefined)
    .map(installationOf)
}

function installationOf({ metadata, spec, status }: SourceRecord): InstallationDto {
  const known = status?.installation
  return {
    installationId: spec.installationId ?? metadata.name,
    deploymentSourceId: metadata.name,
    accountName: status?.accountName ?? spec.organization ?? spec.username ?? '',
    accountType: status?.accountType ?? (spec.organization === undefined ? 'User' : 'Organization'),
    avatarUrl: known?.avatarUrl ?? null,
    repositorySelection: known?.repositorySelection ?? 'All',
    permissions: known?.permissions ?? {},
    suspendedAt: known?.suspendedAt ?? null,
    createdAt: known?.createdAt ?? createdAtOf(metadata),
  }
}

type OfRepository = Context<'boundaryId' | 'sourceName' | 'installationId' | 'repositoryId'>

export async function listRepositories(context: OfInstallation<z.output<typeof RepositoriesQuery>>) {
  const connection = await connectionOf(context.services, await findInstallation(context))
  const { port } = context.services.sources
  return ok(await asked(port.repositories(connection, context.query.search, context.signal)))
}

/** @throws PlatformError source-unknown, webhooks-not-supported, missing-credential */
export async function ensureWebhook(context: OfRepository) {
  const { services, signal, parameters } = context
  const { boundaryId, repositoryId } = parameters
  const source = await findInstallation(context)
  const connection = await connectionOf(services, source)
  const secret = webhookSecretOf(connection.credentials)
  const { provider } = source.spec
  if (secret === '' && sendsWebhooks(provider)) {
    const message = 'The Secret of the source has no webhook-secret, so that no delivery could be verified: add one.'
    throw new PlatformError('missing-credential', message)
  }
  const url = webhookUrlOf(services, boundaryId, sourceNameOf(provider), source.metadata.name)
  const state = await asked(services.sources.port.ensureWebhook(connection, repositoryId, { url, secret }, signal))
  return ok({ repositoryId, ...state })
}

const TOKEN_CODES = { Unsupported: 'tokens-not-supported' } as const

export async function issueToken(context: OfRepository) {
  const { services, signal, parameters } = context
  const source = await findInstallation(context)
  if (stateOf(source) === 'Disabled')
    throw new PlatformError('INVALID_STATE', 'The source is disabled: it gives no tokens.', { status: 'Disabled' })
  const connection = await connectionOf(services, source)
  const token = await asked(services.sources.port.token(connection, parameters.repositoryId, signal), TOKEN_CODES)
  return ok(token, { headers: { 'cache-control': 'no-store' } })
}

type Check = Omit<HealthCheckDto, 'observedAt'>

/** GET {B}/sources/{sourceName}/{deploymentSourceId}/health: asks the provider now. */
export async function sourceHealth(context: OfSource) {
  const { services } = context
  const { source } = await findSource(context)
  const observedAt = timestamp(services.clock.now())
  const connection = await connectionOf(services, source).catch((error: unknown) => {
    if (error instanceof PlatformError && error.status < 500) return undefined
    throw error
  })
  const checks = connection === undefined ? refusedChecks() : await askedChecks(context as Context, connection)
  const hasSecret = webhookSecretOf(connection?.credentials ?? {}) !== ''
  const webhook: Check = !sendsWebhooks(source.spec.provider)
    ? check('Webhook', 'Unknown', 'A source of this type sends no deliveries.')
    : hasSecret
      ? check('Webhook', 'Healthy')
      : check('Webhook', 'Degraded', 'There is no secret that deliveries could be verified with.')
  return ok(reportOf([...checks, webhook], observedAt))
}

const check = (
  name: string,
  status: Check['status'],
  message: string | null = null,
  durationMs: number | null = null,
) => ({ name, status, message, durationMs }) satisfies Check

/** What cannot be told of a provider that was not asked, or does not answer. */
const UNASKED: readonly Check[] = [check('Credential', 'Unknown'), check('Permissions', 'Unknown')]

function refusedChecks(): Check[] {
  return [check('Reachable', 'Unhealthy', 'Its address is not one that the platform calls.'), ...UNASKED]
}

async function askedChecks({ services, signal }: Context, connection: Connection): Promise<Check[]> {
  const { clock, sources } = services
  const start = clock.monotonic()
  const took = () => Math.round(clock.monotonic() - start)
  try {
    const { installation } = await sources.port.check(connection, signal)
    const isSuspended = installation?.suspendedAt !== undefined
    return [
      check('Reachable', 'Healthy', null, took()),
      check('Credential', 'Healthy'),
      isSuspended
        ? check('Permissions', 'Unhealthy', 'The provider has suspended the installation.')
        : check('Permissions', 'Healthy'),
    ]
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const isThere = error.reason === 'CredentialRejected' || error.reason === 'NotFound'
    if (!isThere) return [check('Reachable', 'Unhealthy', error.message, took()), ...UNASKED]
    const reached = check('Reachable', 'Healthy', null, took())
    return [reached, check('Credential', 'Unhealthy', error.message), check('Permissions', 'Unknown')]
  }
}

function reportOf(checks: readonly Check[], observedAt: string): z.output<typeof HealthReportDto> {
  const worst = (['Unhealthy', 'Degraded'] as const).find((state) => checks.some(({ status }) => status === state))
  const status = worst ?? (checks.some((one) => one.status === 'Healthy') ? 'Healthy' : 'Unknown')
  const message = worst === undefined ? null : (checks.find((one) => one.status === worst)?.message ?? null)
  return { status, checkedAt: observedAt, message, checks: checks.map((one) => ({ ...one, observedAt })) }
}
