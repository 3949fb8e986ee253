import type { DnsPort } from '../adapters/dns/port.ts'
import { OutgoingError, type OutgoingPort } from '../adapters/outgoing/port.ts'
import { SSO_SECRET_KEY, verificationRecord } from '../contracts/sso.ts'
import { parseProviderMetadata } from '../contracts/ssoDiscovery.ts'
import { type Complete, completeProvider, protocolRefusal } from '../contracts/ssoProviders.ts'
import { timestamp } from '../core/clock.ts'
import { ageOf, type KubeObject, keyOf } from '../core/object.ts'
import { degraded, done, type Outcome, stalled } from '../core/outcome.ts'
import { SsoConnection, type SsoIdentityProvider, type SsoProtocol } from '../crds/sso.ts'
import { controllerWith, type Pass, steps, type Workspace } from './engine/controller.ts'
import { ownedByTenant, tenantObserver } from './tenantOwnership.ts'

export type SsoPorts = {
  dns: DnsPort
  outgoing: Pick<OutgoingPort, 'document'>
  /** What the platform's own identity provider supports. */
  protocols: readonly SsoProtocol[]
}

/** Milliseconds between checks of an unverified domain, and of a working provider. */
const DOMAIN_INTERVAL_MS = 300_000
const PROVIDER_INTERVAL_MS = 3_600_000
const MAX_ERROR_LENGTH = 256

type SsoPass = Pass<typeof SsoConnection>
type Status = NonNullable<SsoConnection['status']>
type DomainStatus = NonNullable<Status['domains']>[number]
type ProviderStatus = NonNullable<Status['identityProviders']>[number]

type Spec = SsoConnection['spec']

const tenantOf = ({ metadata }: KubeObject) => metadata.name

function withFailedDomains(_changed: KubeObject, records: Workspace): string[] {
  const all = records.cache(SsoConnection).list({})
  return all.filter(({ status }) => status?.domains?.some((one) => one.status === 'Failed')).map(keyOf)
}

/** Reports for each domain whether the tenant has proved ownership, and whether each identity provider answers. */
export const ssoController = controllerWith(
  SsoConnection,
  {
    observes: [
      tenantObserver(SsoConnection, tenantOf),
      // A domain that a connection gives up becomes available to others.
      { resource: SsoConnection.resource, keysOf: withFailedDomains, relevant: ({ spec }) => (spec as Spec).domains },
    ],
    writes: [],
  },
  ({ dns, outgoing, protocols }: SsoPorts) => {
    return { reconcile: steps(ownedByTenant(tenantOf), verifyDomains, checkProviders) }

    async function verifyDomains(pass: SsoPass): Promise<Outcome> {
      const { object } = pass
      const known = object.status?.domains ?? []
      const claimedEarlier = domainsClaimedEarlier(pass)
      const domains = await Promise.all(
        object.spec.domains.map(async (domain): Promise<DomainStatus> => {
          const before = known.find((one) => one.domain === domain)
          if (claimedEarlier.has(domain)) return { domain, status: 'Failed' }
          // A verification is permanent: a DNS outage must not lock a tenant out.
          if (before?.status === 'Verified') return before
          const { name, value } = verificationRecord(object.metadata.name, domain)
          const isShown = (await dns.texts(name)).some((text) => text.trim() === value)
          return isShown
            ? { domain, status: 'Verified', verifiedAt: timestamp(pass.clock.now()) }
            : { domain, status: 'Pending' }
        }),
      )
      pass.report({ domains })
      return domains.some(({ status }) => status === 'Pending') ? done({ after: DOMAIN_INTERVAL_MS }) : done()
    }

    async function checkProviders(pass: SsoPass): Promise<Outcome> {
      const all = pass.object.spec.identityProviders.map(completeProvider)
      const identityProviders = await Promise.all(all.map((provider) => stateOf(pass.object, provider)))
      pass.report({ identityProviders })
      const failing = identityProviders.find(({ status }) => status === 'Failing')
      const [missing] = all.flatMap((provider) => missingSecretMessage(pass.object, provider) ?? [])
      if (missing !== undefined) return stalled('ReferenceMissing', missing, DOMAIN_INTERVAL_MS)
      const refused = all.find((provider) => provider.enabled && refusalOf(provider) !== undefined)
      if (refused !== undefined) {
        const message = `Identity provider "${refused.alias}": ${refusalOf(refused)}`
        return stalled('ConfigurationInvalid', message, PROVIDER_INTERVAL_MS)
      }
      if (failing !== undefined) {
        const message = `The identity provider "${failing.alias}" does not answer as it should: ${failing.lastError}`
        return degraded('PartiallyAvailable', message, DOMAIN_INTERVAL_MS)
      }
      const isAsked = all.some(({ enabled, metadataUrl }) => enabled && metadataUrl !== undefined)
      return isAsked ? done({ after: PROVIDER_INTERVAL_MS }) : done()
    }

    function refusalOf({ protocol }: Complete<SsoIdentityProvider>): string | undefined {
      return protocolRefusal(protocol, protocols)
    }

    async function stateOf(object: SsoConnection, provider: Complete<SsoIdentityProvider>): Promise<ProviderStatus> {
      const { alias, enabled, metadataUrl } = provider
      if (!enabled) return { alias, status: 'Disabled' }
      const refusal = refusalOf(provider)
      if (refusal !== undefined) return { alias, status: 'Failing', lastError: refusal }
      const missing = missingSecretMessage(object, provider)
      if (missing !== undefined) return { alias, status: 'Failing', lastError: missing.slice(0, MAX_ERROR_LENGTH) }
      if (metadataUrl === undefined) return { alias, status: 'Active' }
      try {
        const read = parseProviderMetadata(await outgoing.document(metadataUrl), { ...provider, metadataUrl })
        if (!('why' in read)) return { alias, status: 'Active' }
        return { alias, status: 'Failing', lastError: `The document at "metadataUrl" ${read.why}.` }
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        return { alias, status: 'Failing', lastError: error.message.slice(0, MAX_ERROR_LENGTH) }
      }
    }
  },
)

/** Returns a message if an enabled provider's secret is missing; nobody can sign in there meanwhile. */
function missingSecretMessage({ status }: SsoConnection, provider: Complete<SsoIdentityProvider>): string | undefined {
  const { alias, enabled, clientSecretName: name } = provider
  if (!enabled || name === undefined || status?.missingSecrets?.includes(name) !== true) return undefined
  return `The Secret "${name}" of the identity provider "${alias}" is missing or has no ${SSO_SECRET_KEY}: set its clientSecret again, or make the Secret.`
}

/** Returns domains that an older connection claims: of two made with kubectl, the older counts. */
function domainsClaimedEarlier({ object, records }: SsoPass): ReadonlySet<string> {
  const ownAge = ageOf(object)
  const others = records
    .cache(SsoConnection)
    .list({})
    .filter((other) => other.metadata.name !== object.metadata.name && ageOf(other) < ownAge)
  return new Set(others.flatMap(({ spec }) => spec.domains))
}
