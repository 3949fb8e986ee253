import { z } from 'zod'
import { type KeycloakAdmin, read } from './keycloakAdmin.ts'
import { type ClientDirectory, type ClientRecord, IdentityProviderError } from './port.ts'

const ClientRepresentation = z.looseObject({
  id: z.string(),
  clientId: z.string(),
  name: z.string().optional(),
  enabled: z.boolean().default(false),
})

/** Service accounts in Keycloak: confidential clients, each with a user of its own. */
export function keycloakClients(admin: KeycloakAdmin, audience: string): ClientDirectory {
  async function find(clientId: string, signal?: AbortSignal) {
    const { body } = await admin.call('GET', `/clients?${new URLSearchParams({ clientId })}`, { signal })
    return read(z.array(ClientRepresentation), body).find((candidate) => candidate.clientId === clientId)
  }
  async function existing(clientId: string, signal?: AbortSignal) {
    const found = await find(clientId, signal)
    if (found === undefined) throw new IdentityProviderError('NotFound', 'There is no such client.')
    return found
  }
  async function recordOf(client: z.output<typeof ClientRepresentation>, signal?: AbortSignal): Promise<ClientRecord> {
    // The subject of the client's tokens is a user that Keycloak keeps for it.
    const { body } = await admin.call('GET', `/clients/${client.id}/service-account-user`, { signal })
    const { id: principalId } = read(z.looseObject({ id: z.string() }), body)
    return {
      clientId: client.clientId,
      principalId,
      displayName: client.name ?? client.clientId,
      isEnabled: client.enabled,
    }
  }
  async function secretOf(method: 'GET' | 'POST', id: string, signal?: AbortSignal): Promise<string> {
    const { body } = await admin.call(method, `/clients/${id}/client-secret`, { signal })
    return read(z.looseObject({ value: z.string().min(1) }), body).value
  }
  return {
    async find(clientId, signal) {
      const found = await find(clientId, signal)
      return found && recordOf(found, signal)
    },
    async create({ clientId, displayName }, signal) {
      const answer = await admin.call('POST', '/clients', {
        body: serviceAccountClient(clientId, displayName, audience),
        accepted: [409],
        signal,
      })
      if (answer.status === 409) throw new IdentityProviderError('NameTaken', 'The client id is taken.')
      const made = await existing(clientId, signal)
      return { ...(await recordOf(made, signal)), secret: await secretOf('GET', made.id, signal) }
    },
    async rotateSecret(clientId, signal) {
      const found = await existing(clientId, signal)
      const secret = await secretOf('POST', found.id, signal)
      return { ...(await recordOf(found, signal)), secret }
    },
    async setEnabled(clientId, isEnabled, signal) {
      const found = await existing(clientId, signal)
      await admin.call('PUT', `/clients/${found.id}`, { body: { ...found, enabled: isEnabled }, signal })
    },
    async delete(clientId, signal) {
      const found = await find(clientId, signal)
      if (found !== undefined) await admin.call('DELETE', `/clients/${found.id}`, { accepted: [404], signal })
    },
  }
}

/** A confidential client for client_credentials and nothing else, whose access tokens are for the platform. */
function serviceAccountClient(clientId: string, name: string, audience: string) {
  return {
    clientId,
    name,
    enabled: true,
    protocol: 'openid-connect',
    publicClient: false,
    serviceAccountsEnabled: true,
    standardFlowEnabled: false,
    implicitFlowEnabled: false,
    directAccessGrantsEnabled: false,
    fullScopeAllowed: false,
    protocolMappers: [
      {
        name: 'audience of the platform',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-audience-mapper',
        config: {
          'included.custom.audience': audience,
          'access.token.claim': 'true',
          'id.token.claim': 'false',
          'introspection.token.claim': 'true',
        },
      },
    ],
  }
}
