import { OutgoingError } from '../../adapters/outgoing/port.ts'
import { parseProviderMetadata } from '../../contracts/ssoDiscovery.ts'
import { type Complete, completeProvider, protocolRefusal } from '../../contracts/ssoProviders.ts'
import { notFound, PlatformError, refusedFields } from '../../core/errors.ts'
import { brokenRules } from '../../crds/define.ts'
import { isProviderUsable, SsoConnection, SsoIdentityProvider } from '../../crds/sso.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { mergePatch } from '../records/mergePatch.ts'
import { readChanged } from '../records/readChanged.ts'
import { vetUrl } from '../resources/deployments/address.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { findRole } from '../rules/grants.ts'
import {
  type ConnectionRecord,
  type CreateSsoIdentityProviderRequest,
  connectionRef,
  PatchedProvider,
  providerDto,
  requireTenant,
  SHOWN_FIELDS,
} from './record.ts'

const ADDRESSES = ['metadataUrl', 'issuer', 'authorizationUrl', 'tokenUrl', 'jwksUrl'] as const
/** The fields that determine where the client secret is sent. */
const SECRET_TARGET_FIELDS = ['metadataUrl', 'tokenUrl'] as const
/** Stands for the name of a Secret that is not written yet, while the rest is checked. */
const UNWRITTEN_SECRET_NAME = 'unwritten'
/** Providers per tenant, as in the schema of the kind. */
const PROVIDERS_MAX = 20

/** Returns the connection of a tenant, created if needed, because its Secrets need an owner. */
export async function openConnection(
  { records }: Services,
  caller: Caller,
  tenantId: string,
): Promise<ConnectionRecord> {
  const ref = connectionRef(tenantId)
  const found = await records.get(SsoConnection, ref, { fresh: true })
  if (found !== undefined) return found
  const spec = { domains: [], identityProviders: [] }
  return (await records.create(SsoConnection, { ...ref, spec, caller, isSame: () => true })).object
}

/** Maps a field of the connection, which has all providers, to the field of a body, which is one provider. */
function ownField(field: string, provider: SsoIdentityProvider): string {
  const own = field.replace(/^identityProviders(\.0\.?)?/, '')
  if (own !== '') return own
  if (!isProviderUsable(provider)) return 'metadataUrl'
  return provider.clientId === undefined ? 'clientId' : 'clientSecret'
}

/** Returns the complete provider. @throws PlatformError BAD_REQUEST, unknown_role, NOT_IMPLEMENTED; the first wins */
function vetProvider(services: Services, given: SsoIdentityProvider): Complete<SsoIdentityProvider> {
  const broken = brokenRules(SsoConnection, { domains: [], identityProviders: [given] })
  const errors = broken.map(({ field, message }) => ({ field: ownField(field, given), message }))
  if (errors.length > 0) throw refusedFields(errors)
  const provider = completeProvider(given)
  if (provider.defaultRoleDefinitionName !== undefined) findRole(services, provider.defaultRoleDefinitionName)
  const unsupported = protocolRefusal(provider.protocol, services.sso.federation.protocols)
  if (unsupported !== undefined)
    throw new PlatformError('NOT_IMPLEMENTED', unsupported, { protocol: provider.protocol })
  return provider
}

/** @throws PlatformError URL_NOT_ALLOWED, UPSTREAM_FAILED; the first wins */
async function checkMetadata({ services, signal }: Context, provider: Complete<SsoIdentityProvider>): Promise<void> {
  const { metadataUrl } = provider
  if (metadataUrl === undefined || !provider.enabled) return
  const read = parseProviderMetadata(await fetchMetadata(services, metadataUrl, signal), { ...provider, metadataUrl })
  if ('why' in read)
    throw new PlatformError('UPSTREAM_FAILED', `The document at "metadataUrl" ${read.why}.`, { field: 'metadataUrl' })
  const { endpoints } = read
  for (const address of [endpoints?.tokenUrl, endpoints?.jwksUrl, endpoints?.authorizationUrl]) {
    if (address !== undefined) vetUrl(address, 'metadataUrl', services.sso.allowedHosts)
  }
}

async function fetchMetadata({ sso }: Services, url: string, signal: AbortSignal): Promise<string> {
  try {
    return await sso.outgoing.document(url, signal)
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    const code = error.reason === 'NotAllowed' ? 'URL_NOT_ALLOWED' : 'UPSTREAM_FAILED'
    throw new PlatformError(code, `The identity provider's metadata could not be read: ${error.message}`, {
      field: 'metadataUrl',
    })
  }
}

/** @throws PlatformError NOT_FOUND, what vetProvider and checkMetadata throw, already_exists */
export async function createProvider(context: Context<'tenantId', unknown, CreateSsoIdentityProviderRequest>) {
  const { services, caller, body, parameters } = context
  const { tenantId } = parameters
  await requireTenant(context)
  const { clientSecret, ...fields } = body
  const hasSecret = typeof clientSecret === 'string'
  const provider = readProvider(services, fields, hasSecret ? UNWRITTEN_SECRET_NAME : undefined)
  const complete = vetProvider(services, provider)
  refuseTaken(services.records.peek(SsoConnection, connectionRef(tenantId)), provider.alias)
  await checkMetadata(context, complete)
  return withChangeLock(services, { key: `sso of ${tenantId}`, sees: [] }, async () => {
    const connection = await openConnection(services, caller, tenantId)
    refuseTaken(connection, provider.alias)
    const object = await withSecret(services, connection, clientSecret ?? undefined, async (secretName) => {
      const { clientSecretName: _unwritten, ...rest } = provider
      const made = { ...rest, ...(secretName === undefined ? {} : { clientSecretName: secretName }) }
      return (
        await services.records.update(SsoConnection, connectionRef(tenantId), {
          caller,
          change: (current) => {
            refuseTaken(current, provider.alias)
            return { ...current.spec, identityProviders: [...current.spec.identityProviders, made] }
          },
        })
      ).object
    })
    return created(shown(services, tenantId, object, provider.alias), { etag: etagOf(object) })
  })
}

function readProvider(
  services: Services,
  fields: Omit<CreateSsoIdentityProviderRequest, 'clientSecret'>,
  secretName: string | undefined,
  previous?: SsoIdentityProvider,
): SsoIdentityProvider {
  for (const name of ADDRESSES) {
    const address = fields[name]
    if (typeof address === 'string') vetUrl(address, name, services.sso.allowedHosts)
  }
  const given = Object.entries({ ...fields, clientSecretName: secretName })
  const provider = Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined))
  return readChanged(SsoIdentityProvider, provider, previous)
}

/** @throws PlatformError already_exists; BAD_REQUEST if the tenant has the maximum number of providers */
function refuseTaken(connection: ConnectionRecord | undefined, alias: string): void {
  const providers = connection?.spec.identityProviders ?? []
  if (providers.some((one) => one.alias === alias)) {
    throw new PlatformError('already_exists', `The tenant already has an identity provider "${alias}".`, { alias })
  }
  if (providers.length < PROVIDERS_MAX) return
  const message = `a tenant has at most ${PROVIDERS_MAX} identity providers`
  throw refusedFields([{ field: 'alias', message }])
}

/** Writes the secret first, and deletes it again if the record cannot be written. */
async function withSecret<Result>(
  { sso, log }: Pick<Services, 'sso' | 'log'>,
  connection: ConnectionRecord,
  clientSecret: string | undefined,
  write: (secretName: string | undefined) => Promise<Result>,
): Promise<Result> {
  const name = clientSecret === undefined ? undefined : await sso.secrets.write(connection, clientSecret)
  try {
    return await write(name)
  } catch (error) {
    if (name !== undefined) await dropSecret({ sso, log }, name)
    throw error
  }
}

/** A Secret left behind is deleted with the connection. */
async function dropSecret({ sso, log }: Pick<Services, 'sso' | 'log'>, name: string): Promise<void> {
  try {
    await sso.secrets.remove(name)
  } catch {
    log.warn({ secret: name }, 'A client secret that nothing names any more could not be removed.')
  }
}

function shown(services: Services, tenantId: string, connection: ConnectionRecord, alias: string) {
  const provider = connection.spec.identityProviders.find((one) => one.alias === alias)
  if (provider === undefined) throw notFound(`Identity provider "${alias}"`)
  return providerDto(services, tenantId, provider, connection.status)
}

type AliasContext = Context<'tenantId' | 'alias', unknown, unknown>

/** @throws PlatformError NOT_FOUND */
async function requireProvider({ services, parameters }: Context<'tenantId' | 'alias'>) {
  const { tenantId, alias } = parameters
  const stored = async (fresh: boolean) => {
    const connection = await services.records.get(SsoConnection, connectionRef(tenantId), { fresh })
    const provider = connection?.spec.identityProviders.find((one) => one.alias === alias)
    return connection && provider && { connection, provider }
  }
  // Another replica may have just added it.
  const found = (await stored(false)) ?? (await stored(true))
  if (found === undefined) throw notFound(`Identity provider "${alias.slice(0, 64)}"`)
  return found
}

/** Returns the patched provider and the secret in the patch. @throws PlatformError MODEL_BINDING_FAILED, BAD_REQUEST */
function patched({ services, body }: AliasContext, provider: SsoIdentityProvider) {
  const given = Object.entries(body as object).filter(([name]) => !SHOWN_FIELDS.has(name))
  const complete = completeProvider(provider)
  const { clientSecretName, ...stored } = complete
  // These two have no default for null to restore.
  const patch = given.filter(([name, value]) => value !== null || (name !== 'alias' && name !== 'protocol'))
  const merged = mergePatch(stored, Object.fromEntries(patch))
  const { clientSecret, ...fields } = readChanged(PatchedProvider, merged, stored)
  for (const field of ['alias', 'protocol'] as const) {
    if (fields[field] === complete[field]) continue
    throw refusedFields([{ field, message: 'cannot be changed after creation' }])
  }
  const next = readProvider(services, fields, clientSecretName, provider)
  const changedTarget = SECRET_TARGET_FIELDS.find((field) => next[field] !== provider[field])
  // Otherwise whoever may change the provider could have a secret that they cannot read sent to their own host.
  if (changedTarget !== undefined && clientSecretName !== undefined && typeof clientSecret !== 'string') {
    const message = `must be given again with another ${changedTarget}, because it is sent there`
    throw refusedFields([{ field: 'clientSecret', message }])
  }
  return { next, clientSecret: clientSecret ?? undefined }
}

/** @throws PlatformError NOT_FOUND, CONFLICT, what patched, vetProvider and checkMetadata throw */
export async function patchProvider(context: AliasContext) {
  const { services, caller, ifMatch, parameters } = context
  const { tenantId, alias } = parameters
  await requireTenant(context)
  const { connection, provider: before } = await requireProvider(context)
  const first = patched(context, before)
  const given = first.clientSecret === undefined ? {} : { clientSecretName: UNWRITTEN_SECRET_NAME }
  await checkMetadata(context, vetProvider(services, { ...first.next, ...given }))
  let replaced: string | undefined
  const object = await withSecret(services, connection, first.clientSecret, async (secretName) => {
    const { object } = await services.records.update(SsoConnection, connectionRef(tenantId), {
      caller,
      ifMatch,
      change: ({ spec }) => {
        const stored = spec.identityProviders.find((one) => one.alias === alias)
        if (stored === undefined) throw notFound(`Identity provider "${alias}"`)
        const { next } = patched(context, stored)
        replaced = secretName === undefined ? undefined : stored.clientSecretName
        const made = secretName === undefined ? next : { ...next, clientSecretName: secretName }
        return { ...spec, identityProviders: spec.identityProviders.map((one) => (one.alias === alias ? made : one)) }
      },
    })
    return object
  })
  if (replaced !== undefined) await dropSecret(services, replaced)
  return ok(shown(services, tenantId, object, alias), { etag: etagOf(object) })
}

/** @throws PlatformError NOT_FOUND, CONFLICT */
export async function removeProvider(context: Context<'tenantId' | 'alias'>) {
  const { services, caller, ifMatch, parameters } = context
  const { tenantId, alias } = parameters
  await requireTenant(context)
  await requireProvider(context)
  let secretName: string | undefined
  await services.records.update(SsoConnection, connectionRef(tenantId), {
    caller,
    ifMatch,
    change: ({ spec }) => {
      const stored = spec.identityProviders.find((one) => one.alias === alias)
      if (stored === undefined) throw notFound(`Identity provider "${alias}"`)
      secretName = stored.clientSecretName
      return { ...spec, identityProviders: spec.identityProviders.filter((one) => one !== stored) }
    },
  })
  if (secretName !== undefined) await dropSecret(services, secretName)
  return noContent()
}
