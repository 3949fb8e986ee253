import type { FederatedTenant, Federation } from '../../src/adapters/identity/federation.ts'
import { OutgoingError } from '../../src/adapters/outgoing/port.ts'
import type { SsoServices } from '../../src/api/sso/record.ts'
import { secretData } from '../../src/core/secretData.ts'
import type { SsoProtocol } from '../../src/crds/sso.ts'

/** An identity provider that knows what it is told. */
export class FakeFederation implements Federation {
  readonly protocols: readonly SsoProtocol[]
  readonly tenants = new Map<string, FederatedTenant>()

  constructor(protocols: readonly SsoProtocol[] = ['Oidc']) {
    this.protocols = protocols
  }

  async apply(tenant: FederatedTenant) {
    this.tenants.set(tenant.tenantId, tenant)
  }

  async find(tenantId: string) {
    return this.tenants.get(tenantId)
  }

  async remove(tenantId: string) {
    this.tenants.delete(tenantId)
  }
}

/**
 * Single sign-on in memory. `documents` is the Internet: an Error there is thrown, and a missing address does not
 * answer.
 */
export function makeSso(documents: Record<string, string | Error> = {}, federation = new FakeFederation()) {
  const secrets = new Map<string, string>()
  const document = async (url: string) => {
    const found = documents[url] ?? new OutgoingError('Unreachable', `${new URL(url).host} does not answer.`)
    if (found instanceof Error) throw found
    return found
  }
  const sso: SsoServices = {
    federation,
    outgoing: { document, fetch: async (url) => new Response(await document(url)) },
    allowedHosts: [],
    secrets: {
      async write(_owner, clientSecret) {
        const name = `sso-${secrets.size}`
        secrets.set(name, clientSecret)
        return name
      },
      async remove(name) {
        secrets.delete(name)
      },
      async read(_namespace, name) {
        const found = secrets.get(name)
        return found === undefined ? undefined : secretData({ 'client-secret': found })
      },
    },
    issuer: 'https://login.freehold.test/realms/freehold',
  }
  return { sso, secrets, federation }
}
