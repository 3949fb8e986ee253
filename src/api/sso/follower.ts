import type { FederatedProvider, FederatedTenant } from '../../adapters/identity/port.ts'
import { IdentityProviderError } from '../../adapters/identity/port.ts'
import { OutgoingError } from '../../adapters/outgoing/port.ts'
import { SSO_SECRET_KEY } from '../../contracts/sso.ts'
import { parseProviderMetadata } from '../../contracts/ssoDiscovery.ts'
import { type Complete, completeProvider } from '../../contracts/ssoProviders.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretText } from '../../core/secretData.ts'
import type { PlatformTenant } from '../../crds/rbac.ts'
import type { SsoConnection, SsoIdentityProvider } from '../../crds/sso.ts'
import type { WatchCache } from '../../kube/cache.ts'
import { verifiedDomains } from '../people/singleSignOn.ts'
import type { ConnectionRecord, SsoServices } from './record.ts'

export type FollowerOptions = {
  connections: Pick<WatchCache<SsoConnection & KubeObject>, 'get' | 'list' | 'subscribe'>
  tenants: Pick<WatchCache<PlatformTenant & KubeObject>, 'get' | 'subscribe'>
  /** Metadata of the Secrets in the platform's namespace. */
  secrets: Pick<WatchCache<KubeObject>, 'subscribe'>
  sso: Pick<SsoServices, 'federation' | 'outgoing' | 'secrets'>
  clock: Clock
  log: Log
}

const FIRST_RETRY_DELAY_MS = 5_000
const RETRY_DELAY_MAX_MS = 300_000
/** Metadata can change without notice: after a rotation of its keys, a provider would let nobody in. */
const METADATA_INTERVAL_MS = 3_600_000

/**
 * Propagates SsoConnection objects, whoever wrote them, to an identity provider with its own records. Runs beside the
 * facade, because the controllers may not read Secrets in the platform's namespace. Every replica does the same, which
 * is harmless: each applies the complete state of a tenant.
 */
export function followConnections(options: FollowerOptions): { stop(): void; whenIdle(): Promise<void> } {
  const { connections, clock, log, sso } = options
  const waits = new Map<string, { timer: Timer; wait: number }>()
  const running = new Map<string, Promise<void>>()
  let isStopped = false

  async function settle(tenantId: string): Promise<void> {
    const object = connections.get(SYSTEM_NAMESPACE, tenantId)
    const isGone = object === undefined || object.metadata.deletionTimestamp !== undefined
    try {
      if (isGone) await sso.federation.remove(tenantId)
      else await applyTenant(object)
      rest(tenantId, !isGone && object.spec.identityProviders.some(hasLivingMetadata))
    } catch (error) {
      const isKnown = error instanceof IdentityProviderError || error instanceof OutgoingError
      const why = isKnown ? error.message : 'a record or Secret could not be read'
      log.warn({ tenantId, error: why }, 'Single sign-on of a tenant could not be made known to the identity provider.')
      later(tenantId)
    }
  }
  /** Applies a tenant even if one of its providers does not answer: for the others, and for what was removed. */
  async function applyTenant(object: SsoConnection & KubeObject): Promise<void> {
    const { tenant, providerError } = await federatedTenant(options, object)
    await sso.federation.apply(tenant)
    if (providerError !== undefined) throw providerError
  }
  function later(tenantId: string): void {
    const wait = Math.min((waits.get(tenantId)?.wait ?? FIRST_RETRY_DELAY_MS / 2) * 2, RETRY_DELAY_MAX_MS)
    beginIn(tenantId, wait, wait)
  }
  /** Waits until something changes, or until metadata may have. */
  function rest(tenantId: string, hasMetadata: boolean): void {
    waits.get(tenantId)?.timer.cancel()
    waits.delete(tenantId)
    if (hasMetadata) beginIn(tenantId, METADATA_INTERVAL_MS, FIRST_RETRY_DELAY_MS / 2)
  }
  function beginIn(tenantId: string, milliseconds: number, wait: number): void {
    waits.get(tenantId)?.timer.cancel()
    if (!isStopped) waits.set(tenantId, { wait, timer: clock.setTimeout(() => begin(tenantId), milliseconds) })
  }
  /** Runs one at a time per tenant, and once more for changes in between. */
  function begin(tenantId: string): void {
    if (isStopped) return
    const before = running.get(tenantId) ?? Promise.resolve()
    const run = before.then(() => settle(tenantId))
    running.set(tenantId, run)
    void run.then(() => {
      if (running.get(tenantId) === run) running.delete(tenantId)
    })
  }
  function applyNow(tenantId: string): void {
    waits.get(tenantId)?.timer.cancel()
    begin(tenantId)
  }
  const unfollow = follow(options, applyNow)
  return {
    stop() {
      isStopped = true
      unfollow()
      for (const { timer } of waits.values()) timer.cancel()
    },
    whenIdle: async () => void (await Promise.all(running.values())),
  }
}

/** Reports each tenant whose state must be applied again. @returns a function that unsubscribes */
function follow({ connections, secrets, tenants }: FollowerOptions, applyNow: (tenantId: string) => void): () => void {
  const ofConnections = connections.subscribe(
    ({ type, object, previous }) => {
      if (type !== 'modified' || !isUnchanged(object, previous)) applyNow(object.metadata.name)
    },
    { replay: true },
  )
  // A Secret was changed, or a missing one created. A deletion requires nothing.
  const ofSecrets = secrets.subscribe(({ type, object: { metadata } }) => {
    const isNamed = ({ clientSecretName }: SsoIdentityProvider) => clientSecretName === metadata.name
    const naming = connections.list().filter(({ spec }) => spec.identityProviders.some(isNamed))
    if (type !== 'removed') for (const connection of naming) applyNow(connection.metadata.name)
  })
  // The tenant's name is part of the applied state.
  const ofTenants = tenants.subscribe(({ object, previous }) => {
    const tenantId = object.metadata.name
    const isNamedAlike = previous?.spec.displayName === object.spec.displayName
    if (!isNamedAlike && connections.get(SYSTEM_NAMESPACE, tenantId) !== undefined) applyNow(tenantId)
  })
  return () => {
    for (const end of [ofConnections, ofSecrets, ofTenants]) end()
  }
}

const hasLivingMetadata = (provider: SsoIdentityProvider) => {
  const { enabled, metadataUrl } = completeProvider(provider)
  return enabled && metadataUrl !== undefined
}

/** Compares the spec and the verified domains only, because conditions change often. */
function isUnchanged(one: SsoConnection & KubeObject, other: SsoConnection & KubeObject): boolean {
  const shape = (object: SsoConnection & KubeObject) => [object.spec, verifiedDomains(object as ConnectionRecord)]
  const isDeletionDifferent = one.metadata.deletionTimestamp !== other.metadata.deletionTimestamp
  return !isDeletionDifferent && JSON.stringify(shape(one)) === JSON.stringify(shape(other))
}

type ResolvedTenant = {
  tenant: FederatedTenant
  /** Why an enabled provider could not be included. */
  providerError: OutgoingError | undefined
}

/** Returns the state of a tenant, with secrets and metadata. @throws IdentityProviderError */
async function federatedTenant(
  { tenants, sso }: Pick<FollowerOptions, 'tenants' | 'sso'>,
  object: SsoConnection & KubeObject,
): Promise<ResolvedTenant> {
  const tenantId = object.metadata.name
  const all = await Promise.all(
    object.spec.identityProviders.map(completeProvider).map((one) =>
      federatedProvider(sso, one).catch((error: unknown) => {
        if (error instanceof OutgoingError) return { unread: { alias: one.alias, enabled: one.enabled }, error }
        throw error
      }),
    ),
  )
  const failed = all.flatMap((one) => ('unread' in one ? [one] : []))
  const providers = all.flatMap((one) => ('unread' in one ? [] : [one]))
  const unread = failed.map((one) => one.unread)
  const displayName = tenants.get(undefined, tenantId)?.spec.displayName ?? tenantId
  const domains = verifiedDomains(object as ConnectionRecord)
  return {
    tenant: { tenantId, displayName, domains, providers, unread },
    providerError: failed.find((one) => one.unread.enabled)?.error,
  }
}

async function federatedProvider(
  sso: FollowerOptions['sso'],
  provider: Complete<SsoIdentityProvider>,
): Promise<FederatedProvider> {
  const { clientSecretName, metadataUrl, defaultRoleDefinitionName: _here, ...fields } = provider
  const secret = clientSecretName === undefined ? undefined : await sso.secrets.read(SYSTEM_NAMESPACE, clientSecretName)
  const clientSecret = secretText(secret, SSO_SECRET_KEY) ?? ''
  const rest = { ...fields, ...(clientSecret === '' ? {} : { clientSecret }) }
  if (metadataUrl === undefined) return rest
  const text = await sso.outgoing.document(metadataUrl)
  const read = parseProviderMetadata(text, { ...provider, metadataUrl })
  if ('why' in read) throw new OutgoingError('Unreachable', `The metadata of "${provider.alias}" ${read.why}.`)
  const { endpoints: found } = read
  if (found === undefined) return { ...rest, metadata: text }
  // Explicitly configured endpoints take precedence over the metadata.
  return {
    ...rest,
    issuer: provider.issuer ?? found.issuer,
    authorizationUrl: provider.authorizationUrl ?? found.authorizationUrl,
    tokenUrl: provider.tokenUrl ?? found.tokenUrl,
    jwksUrl: provider.jwksUrl ?? found.jwksUrl,
  }
}
