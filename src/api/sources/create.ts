import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import {
  CREDENTIAL_KEYS,
  type Credentials,
  NEEDED_CREDENTIALS,
  type Provider,
  PUBLIC_HOSTS,
  sourceSecretName,
} from '../../contracts/sources/providers.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { type LinkToken, newLinkToken } from '../../core/linkToken.ts'
import { DisplayName } from '../../crds/fields.ts'
import { AccountName, DeploymentSource } from '../../crds/sources.ts'
import { created } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { checkSpec } from '../records/specs.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { vetSourceUrl, vetUrl } from '../resources/deployments/address.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { requireCircuit, translateProviderErrors, webhookUrlOf, writeCredentials } from './connection.ts'
import { requireProvider, SOURCE_STATES, type SourceRecord, type SourceTypeContext, sourceStateOf } from './record.ts'

const Address = z.string().min(1).max(2048)
const SecretText = z.string().min(1).max(4096)

export const CreateDeploymentSourceRequest = strictRecord('CreateDeploymentSourceRequest', {
  displayName: DisplayName,
  baseUrl: Address.nullish().describe('Default: the public host of the provider. For git, the repository'),
  organization: AccountName.nullish().describe('Organization, group or workspace'),
  accessToken: SecretText.nullish().describe('For gitlab, gitea, bitbucket and git; never returned'),
  username: DeploymentSource.spec.shape.username.nullish(),
  privateKey: z.string().min(1).max(16_384).nullish().describe('For git over ssh, as PEM; never returned'),
  registryUrl: Address.nullish().describe('registry'),
  password: SecretText.nullish().describe('For registry; never returned'),
  returnUrl: Address.nullish().describe('The page of this platform to open after an installation'),
})
type Request = z.output<typeof CreateDeploymentSourceRequest>

export const InitiateInstallResponse = namedRecord('InitiateInstallResponse', {
  deploymentSourceId: Uuid,
  status: z.enum(SOURCE_STATES),
  installUrl: z.string().nullable().describe('The address to open in a browser; null if nothing is to be installed'),
  state: z.string().nullable().describe('The value that the provider sends back, once'),
  webhookUrl: z.string(),
  webhookSecret: z.string().describe('Shown this once'),
  expiresAt: DateTime.nullable().describe('Of the state'),
})

/** The lifetime of a state in milliseconds (interface section 4.20). */
const STATE_TTL_MS = 900_000

/** Returns a state token for the next step of an installation, with the hash that the object stores. */
export function newState(services: Services, boundaryId: string, id: string): LinkToken & { expiresAt: string } {
  return { ...newLinkToken([boundaryId, id]), expiresAt: timestamp(services.clock.now() + STATE_TTL_MS) }
}

/**
 * POST {B}/sources/{sourceName}/create.
 * @throws PlatformError source-unknown, BAD_REQUEST, missing-credential, URL_NOT_ALLOWED, credential-rejected, upstream-failed,
 * ENGINE_MISSING
 */
export async function createSource(context: SourceTypeContext<unknown, Request>) {
  const parent = await inBoundary(context as Context)
  const provider = requireProvider(context)
  refuseWhileDeleting(parent.owner)
  const { services, body, caller } = context
  const id = randomUUID()
  const baseUrl = baseUrlOf(services, provider, body)
  const credentials = credentialsIn(provider, body)
  const returnUrl = body.returnUrl ?? undefined
  checkReturnUrl(services, returnUrl)
  const [organization, username] = [body.organization ?? undefined, body.username ?? undefined]
  const common = { provider, displayName: body.displayName, baseUrl, organization, username }
  const webhookSecret = randomBytes(32).toString('base64url')
  const state = provider === 'GitHub' ? newState(services, parent.boundaryId, id) : undefined
  const spec = {
    ...common,
    credentials: credentials && { secretName: sourceSecretName(id) },
    circuit: provider === 'Circuit' ? {} : undefined,
    install: state && { step: 'Register', stateHash: state.hash, expiresAt: state.expiresAt, returnUrl },
  }
  checkSpec(DeploymentSource, spec, undefined)
  if (credentials !== undefined) {
    const codes = { NotFound: 'credential-rejected' } as const
    await translateProviderErrors(services.sources.port.check({ ...common, credentials }, context.signal), codes)
  }
  const { namespace } = parent
  const { object: source } = await services.records.create(DeploymentSource, { namespace, name: id, spec, caller })
  await writeOrDelete(context as Context, source, { ...credentials, [CREDENTIAL_KEYS.webhookSecret]: webhookSecret })
  const initiated = {
    deploymentSourceId: id,
    status: credentials === undefined ? sourceStateOf(source) : 'Ready',
    installUrl: state === undefined ? null : `${services.sources.baseUrl}/sources/install/${state.token}`,
    state: state?.token ?? null,
    webhookUrl: webhookUrlOf(services, source),
    webhookSecret,
    expiresAt: state?.expiresAt ?? null,
  }
  return created(initiated, { etag: etagOf(source) })
}

/** Deletes the source again if its Secret cannot be written, because it would be unusable. */
async function writeOrDelete(context: Context, source: SourceRecord, credentials: Credentials): Promise<void> {
  try {
    await writeCredentials(context, source, credentials)
  } catch (error) {
    const { namespace, name } = source.metadata
    const { records, log } = context.services
    await records
      .remove(DeploymentSource, { namespace, name }, { caller: context.caller })
      .catch(() => log.warn({ source: name }, 'A source without credentials could not be deleted.'))
    throw error
  }
}

/** @throws PlatformError BAD_REQUEST, URL_NOT_ALLOWED, ENGINE_MISSING */
function baseUrlOf(services: Services, provider: Provider, body: Request): string {
  const field = provider === 'Registry' ? 'registryUrl' : 'baseUrl'
  // Refuse an unused address: the caller might expect it, while the credentials would go to the public host.
  const unusedField = (['baseUrl', 'registryUrl'] as const).find(
    (name) => body[name] != null && (name !== field || provider === 'Circuit'),
  )
  if (unusedField !== undefined) {
    const hint = provider === 'Circuit' ? '' : `: set ${field}`
    throw refusedFields([{ field: unusedField, message: `is not used by a source of type ${provider}${hint}` }])
  }
  if (provider === 'Circuit') return requireCircuit(services)
  const given = body[field] ?? PUBLIC_HOSTS[provider]
  if (given === undefined) throw refusedFields([{ field, message: 'is required: it is the address of the repository' }])
  if (URL.canParse(given)) {
    const { search, hash } = new URL(given)
    if (search !== '' || hash !== '') throw refusedFields([{ field, message: 'must have no query or fragment' }])
  }
  if (provider === 'Git') vetSourceUrl(services, given, field)
  else vetUrl(given, field, services.sources.allowedHosts)
  return given.replace(/\/+$/, '')
}

/** The request field for each entry of the Secret. */
const CREDENTIAL_FIELDS: Readonly<Record<string, 'accessToken' | 'password' | 'privateKey'>> = {
  [CREDENTIAL_KEYS.token]: 'accessToken',
  [CREDENTIAL_KEYS.password]: 'password',
  [CREDENTIAL_KEYS.privateKey]: 'privateKey',
}

/** Undefined if the platform gets the credentials itself. @throws PlatformError missing-credential, BAD_REQUEST */
function credentialsIn(provider: Provider, body: Request): Credentials | undefined {
  const isGenerated = provider === 'GitHub' || provider === 'Circuit'
  const needed = isGenerated ? [] : NEEDED_CREDENTIALS[provider]
  const given = Object.entries(CREDENTIAL_FIELDS).filter(([, field]) => body[field] != null)
  const unneeded = given.find(([entry]) => !needed.includes(entry))
  if (unneeded !== undefined)
    throw refusedFields([{ field: unneeded[1], message: `is not used by a source of type ${provider}` }])
  if (isGenerated) return undefined
  if (given.length > 0) return Object.fromEntries(given.map(([entry, field]) => [entry, body[field] ?? '']))
  const names = needed.map((entry) => `"${CREDENTIAL_FIELDS[entry]}"`).join(' or ')
  throw new PlatformError('missing-credential', `A source of type ${provider} needs ${names}.`)
}

/** Allows pages of this platform only: others would learn the outcome, and people would not notice leaving. */
function checkReturnUrl({ sources }: Services, returnUrl: string | undefined): void {
  if (returnUrl === undefined) return
  if (URL.parse(returnUrl)?.origin === new URL(sources.baseUrl).origin) return
  throw refusedFields([{ field: 'returnUrl', message: `must be an address of ${new URL(sources.baseUrl).origin}` }])
}
