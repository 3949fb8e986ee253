import { z } from 'zod'
import {
  type AdminAnswer,
  type KeycloakAdmin,
  type KeycloakOptions,
  keycloakAdmin,
  read,
  unreadable,
} from './keycloakAdmin.ts'
import { keycloakFederation } from './keycloakFederation.ts'
import { type KeycloakOrganizations, keycloakOrganizations } from './keycloakOrganizations.ts'
import {
  type ClientDirectory,
  type ClientRecord,
  IdentityProviderError,
  type NewUser,
  type UserDirectory,
  type UserRecord,
} from './port.ts'
import type { IdentityAdministration, PasswordRules } from './provider.ts'

export type KeycloakProviderOptions = KeycloakOptions & {
  /** The `aud` of tokens for the platform; each client that is made gets a mapper that adds it. */
  audience: string
}

const UserRepresentation = z.looseObject({
  id: z.string(),
  username: z.string(),
  email: z.string().optional(),
  emailVerified: z.boolean().default(false),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  enabled: z.boolean().default(false),
  federationLink: z.string().optional(),
  federatedIdentities: z.array(z.unknown()).optional(),
  createdTimestamp: z.number().default(0),
})
const ClientRepresentation = z.looseObject({
  id: z.string(),
  clientId: z.string(),
  name: z.string().optional(),
  enabled: z.boolean().default(false),
})

/** As many people as one look takes. */
const LONGEST_LIST = 10_000

/** Keycloak as the platform administers it, through its admin API. */
export function createKeycloakProvider(options: KeycloakProviderOptions): IdentityAdministration {
  const admin = keycloakAdmin(options)
  const organizations = keycloakOrganizations(admin)
  return {
    users: keycloakUsers(admin, organizations),
    clients: keycloakClients(admin, options.audience),
    federation: keycloakFederation(admin, organizations),
    async passwordRules(signal) {
      const { body } = await admin.call('GET', '', { signal })
      return rulesOf(read(z.looseObject({ passwordPolicy: z.string().default('') }), body).passwordPolicy)
    },
  }
}

function keycloakUsers(admin: KeycloakAdmin, organizations: KeycloakOrganizations): UserDirectory {
  const pathOf = (userId: string) => `/users/${encodeURIComponent(userId)}`
  async function find(userId: string, signal?: AbortSignal) {
    const { status, body } = await admin.call('GET', pathOf(userId), { accepted: [404], signal })
    return status === 404 ? undefined : read(UserRepresentation, body)
  }
  async function existing(userId: string, signal?: AbortSignal) {
    const found = await find(userId, signal)
    if (found === undefined) throw new IdentityProviderError('NotFound', 'There is no such user.')
    return found
  }
  async function search(query: Record<string, string>, signal?: AbortSignal) {
    const { body } = await admin.call('GET', `/users?${new URLSearchParams(query)}`, { signal })
    return read(z.array(UserRepresentation), body)
  }
  async function endOtherSessions(userId: string, kept: string, signal?: AbortSignal): Promise<void> {
    const { body } = await admin.call('GET', `${pathOf(userId)}/sessions`, { signal })
    for (const { id } of read(z.array(z.looseObject({ id: z.string() })), body)) {
      if (id === kept) continue
      await admin.call('DELETE', `/sessions/${encodeURIComponent(id)}`, { accepted: [404], signal })
    }
  }
  const signOut = async (userId: string, signal?: AbortSignal) => {
    await admin.call('POST', `${pathOf(userId)}/logout`, { accepted: [404], signal })
  }
  async function recordOf(user: z.output<typeof UserRepresentation>, signal?: AbortSignal): Promise<UserRecord> {
    return userOf(user, await organizations.tenantsOf(user.id, signal))
  }
  /** The admin API chooses ids itself; an import takes those that it is given. */
  async function importOne({ password: _set, id, ...user }: NewUser & { id: string }, signal?: AbortSignal) {
    const { userName: username, ...fields } = user
    const answer = await admin.call('POST', '/partialImport', {
      body: { ifResourceExists: 'FAIL', users: [{ id, username, ...fields, enabled: true }] },
      accepted: [400, 409],
      signal,
    })
    if (answer.status === 409) throw nameTaken()
    if (answer.status === 400) throw refused(answer, false)
    return recordOf(await existing(id, signal), signal)
  }
  return {
    async find(userId, signal) {
      const found = await find(userId, signal)
      return found && recordOf(found, signal)
    },
    async findByEmail(email, signal) {
      const wanted = email.trim().toLowerCase()
      const found = await search({ email: wanted, exact: 'true' }, signal)
      const user = found.find((candidate) => candidate.email?.toLowerCase() === wanted)
      return user && recordOf(user, signal)
    },
    async list({ search: part = '', limit }, signal) {
      const max = String(Math.min(limit, LONGEST_LIST))
      const found = await search({ max, ...(part === '' ? {} : { search: part }) }, signal)
      const tenants = await organizations.tenantsByMember(signal)
      return found.map((user) => userOf(user, tenants.get(user.id) ?? []))
    },
    async create(user, signal) {
      const { id, userName, password, email, emailVerified, firstName, lastName } = user
      if (id !== undefined) {
        const made = await importOne({ ...user, id }, signal)
        if (password !== undefined) await this.setPassword(id, password, { signal })
        return made
      }
      const answer = await admin.call('POST', '/users', {
        body: {
          username: userName,
          email,
          emailVerified,
          firstName,
          lastName,
          enabled: true,
          ...(password === undefined ? {} : { credentials: [{ type: 'password', value: password, temporary: false }] }),
        },
        accepted: [400, 409],
        signal,
      })
      if (answer.status === 409) throw nameTaken()
      if (answer.status === 400) throw refused(answer, password !== undefined)
      return recordOf(await existing(idIn(answer), signal), signal)
    },
    async update(userId, { email, emailVerified, firstName, lastName, isEnabled }, signal) {
      const before = await existing(userId, signal)
      const changes = Object.entries({ email, emailVerified, firstName, lastName, enabled: isEnabled })
      const changed = Object.fromEntries(changes.filter(([, value]) => value !== undefined))
      const answer = await admin.call('PUT', pathOf(userId), {
        body: { ...before, ...changed },
        accepted: [400, 404, 409],
        signal,
      })
      if (answer.status === 409) throw nameTaken()
      if (answer.status === 400) throw refused(answer, false)
      return recordOf(await existing(userId, signal), signal)
    },
    async setPassword(userId, password, { keepSession, signal } = {}) {
      const answer = await admin.call('PUT', `${pathOf(userId)}/reset-password`, {
        body: { type: 'password', value: password, temporary: false },
        accepted: [400, 404],
        signal,
      })
      if (answer.status === 404) throw new IdentityProviderError('NotFound', 'There is no such user.')
      if (answer.status === 400) throw refused(answer, true)
      if (keepSession === undefined) await signOut(userId, signal)
      else await endOtherSessions(userId, keepSession, signal)
    },
    async hasLocalPassword(userId, signal) {
      const { status, body } = await admin.call('GET', `${pathOf(userId)}/credentials`, { accepted: [404], signal })
      if (status === 404) return false
      return read(z.array(z.looseObject({ type: z.string() })), body).some(({ type }) => type === 'password')
    },
    async joinTenant(userId, tenantId, signal) {
      await existing(userId, signal)
      await organizations.join(userId, tenantId, signal)
    },
    leaveTenant: organizations.leave,
    signOut,
    async delete(userId, signal) {
      await admin.call('DELETE', pathOf(userId), { accepted: [404], signal })
    },
  }
}

function keycloakClients(admin: KeycloakAdmin, audience: string): ClientDirectory {
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

const RULES = {
  length: 'minLength',
  maxLength: 'maxLength',
  digits: 'minDigits',
  lowerCase: 'minLowerCase',
  upperCase: 'minUpperCase',
  specialChars: 'minSpecialChars',
} as const satisfies Record<string, keyof PasswordRules>
/** What Keycloak takes where a rule names no number, or there is no rule. */
const NO_LIMIT = 1024

/** Keycloak's own form: `length(12) and digits(1) and notEmail`. Rules that the platform does not show are Keycloak's to apply. */
export function rulesOf(policy: string): PasswordRules {
  const rules: PasswordRules = {
    minLength: 0,
    maxLength: NO_LIMIT,
    minDigits: 0,
    minLowerCase: 0,
    minUpperCase: 0,
    minSpecialChars: 0,
    allowEmail: !/\bnotEmail\b/.test(policy),
  }
  for (const [, name = '', value = ''] of policy.matchAll(/(\w+)\((\w+)\)/g)) {
    const rule = RULES[name as keyof typeof RULES]
    if (rule !== undefined && /^\d+$/.test(value)) rules[rule] = Number(value)
  }
  return rules
}

function userOf(user: z.output<typeof UserRepresentation>, tenantIds: readonly string[]): UserRecord {
  const { id, username, email, emailVerified, firstName, lastName, enabled, createdTimestamp } = user
  const { federationLink, federatedIdentities } = user
  return {
    id,
    userName: username,
    ...(email !== undefined && { email }),
    emailVerified,
    ...(firstName !== undefined && { firstName }),
    ...(lastName !== undefined && { lastName }),
    isEnabled: enabled,
    isExternal: federationLink !== undefined || (federatedIdentities ?? []).length > 0,
    tenantIds,
    createdAt: createdTimestamp,
  }
}

function idIn({ location }: AdminAnswer): string {
  const id = location?.split('/').at(-1)
  if (id === undefined || id === '') throw unreadable()
  return id
}

const nameTaken = () => new IdentityProviderError('NameTaken', 'The user name or the address is taken.')

/** Keycloak answers 400 for passwords that break its policy, and for profiles that break its rules. */
function refused({ body }: AdminAnswer, hasPassword: boolean): IdentityProviderError {
  const word = JSON.stringify(body ?? '').toLowerCase()
  return hasPassword && word.includes('password')
    ? new IdentityProviderError('PasswordRefused', 'The password does not keep the rules for passwords.')
    : new IdentityProviderError('Unavailable', 'Keycloak refused the user: its profile rules ask for something else.')
}
