import { BROKERED_PROTOCOLS, completeProvider, protocolRefusal } from '../../contracts/ssoProviders.ts'
import { absent } from '../../core/kubeFailure.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { SsoConnection } from '../../crds/sso.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Federation } from './federation.ts'
import { IdentityProviderError } from './port.ts'

export type LocalFederationOptions = { client: Pick<KubeClient, 'get'>; connection: Resource }

/**
 * Tenants' identity providers with the local provider, which reads the SsoConnection at each sign-in: nothing needs to
 * be configured here. It supports OpenID Connect, but not SAML.
 */
export function createLocalFederation({ client, connection }: LocalFederationOptions): Federation {
  return {
    protocols: BROKERED_PROTOCOLS.local,
    async apply({ providers }) {
      const refusals = providers.map(({ protocol }) => protocolRefusal(protocol, BROKERED_PROTOCOLS.local))
      const refusal = refusals.find((one) => one !== undefined)
      if (refusal !== undefined) throw new IdentityProviderError('Unsupported', refusal)
    },
    async find(tenantId) {
      const found = await read(client, connection, tenantId)
      if (found === undefined) return undefined
      const { spec, status } = found
      const isVerified = (name: string) =>
        status?.domains?.some((one) => one.domain === name && one.status === 'Verified')
      return {
        domains: spec.domains.filter(isVerified),
        providers: spec.identityProviders.map(completeProvider).map(({ alias, displayName, protocol, enabled }) => ({
          alias,
          displayName,
          protocol,
          enabled,
        })),
      }
    },
    // The SsoConnection itself is the configuration, and is deleted elsewhere.
    async remove() {},
  }
}

async function read(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
): Promise<(SsoConnection & KubeObject) | undefined> {
  if (!isUuid(name)) return undefined
  return client.get<SsoConnection & KubeObject>(resource, { namespace: SYSTEM_NAMESPACE, name }).catch(absent)
}
