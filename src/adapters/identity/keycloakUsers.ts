import { z } from 'zod'
import { mapConcurrently } from '../../core/mapConcurrently.ts'
import { type AdminAnswer, type KeycloakAdmin, parseAdminAnswer, unreadable } from './keycloakAdmin.ts'
import { CALLS_AT_ONCE, type KeycloakOrganizations } from './keycloakOrganizations.ts'
import { IdentityProviderError, type NewUser, type UserDirectory, type UserRecord } from './port.ts'

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
type User = z.output<typeof UserRepresentation>

const Identified = z.array(z.looseObject({ id: z.string() }))
const Providers = z.array(z.looseObject({ alias: z.string() }))
/** Consents per client; an additional grant means an offline session. */
const Consents = z.array(
  z.looseObject({ additionalGrants: z.array(z.looseObject({ client: z.string() })).default([]) }),
)

/** Maximum number of users in one list. */
const MAX_LISTED_USERS = 10_000

const pathOf = (userId: string) => `/users/${encodeURIComponent(userId)}`

/** The users of a realm, with the tenants whose organizations they are members of. */
export function keycloakUsers(admin: KeycloakAdmin, organizations: KeycloakOrganizations): UserDirectory {
  const reads = userReads(admin, organizations)
  const passwords = userPasswords(admin)
  return {
    ...userLookups(reads, organizations),
    ...passwords,
    create: (user) => createUser(admin, reads, passwords, user),
    async update(userId, { email, emailVerified, firstName, lastName, isEnabled }) {
      const before = await reads.existing(userId)
      const changes = Object.entries({ email, emailVerified, firstName, lastName, enabled: isEnabled })
      const changed = Object.fromEntries(changes.filter(([, value]) => value !== undefined))
      const answer = await admin.call('PUT', pathOf(userId), {
        body: { ...before, ...changed },
        accepted: [400, 404, 409],
      })
      assertAccepted(answer, false)
      return reads.recordOf(await reads.existing(userId))
    },
    async joinTenant(userId, tenantId) {
      await reads.existing(userId)
      await organizations.join(userId, tenantId)
    },
    leaveTenant: organizations.leave,
    countIn: organizations.countIn,
    async delete(userId) {
      await admin.call('DELETE', pathOf(userId), { accepted: [404] })
    },
  }
}

type UserReads = ReturnType<typeof userReads>

function userReads(admin: KeycloakAdmin, organizations: KeycloakOrganizations) {
  async function find(userId: string): Promise<User | undefined> {
    const { status, body } = await admin.call('GET', pathOf(userId), { accepted: [404] })
    return status === 404 ? undefined : parseAdminAnswer(UserRepresentation, body)
  }
  return {
    find,
    async existing(userId: string): Promise<User> {
      const found = await find(userId)
      if (found === undefined) throw new IdentityProviderError('NotFound', 'There is no such user.')
      return found
    },
    async search(query: Record<string, string>): Promise<User[]> {
      const { body } = await admin.call('GET', `/users?${new URLSearchParams(query)}`)
      return parseAdminAnswer(z.array(UserRepresentation), body)
    },
    /** Returns the users who sign in at another provider, which a user list does not tell. */
    async externalIds(): Promise<ReadonlySet<string>> {
      const max = String(MAX_LISTED_USERS)
      const { body } = await admin.call('GET', `/identity-provider/instances?max=${max}`)
      const external = await mapConcurrently(CALLS_AT_ONCE, parseAdminAnswer(Providers, body), async ({ alias }) => {
        const query = new URLSearchParams({ max, idpAlias: alias, briefRepresentation: 'true' })
        const { body: linked } = await admin.call('GET', `/users?${query}`)
        return parseAdminAnswer(Identified, linked).map(({ id }) => id)
      })
      return new Set(external.flat())
    },
    async recordOf(user: User): Promise<UserRecord> {
      return userOf(user, await organizations.tenantsOf(user.id))
    },
  }
}

function userLookups(
  { find, search, externalIds, recordOf }: UserReads,
  organizations: KeycloakOrganizations,
): Pick<UserDirectory, 'find' | 'findByEmail' | 'list'> {
  return {
    async find(userId) {
      const found = await find(userId)
      return found && recordOf(found)
    },
    async findByEmail(email) {
      const wanted = email.trim().toLowerCase()
      const found = await search({ email: wanted, exact: 'true' })
      const id = found.find((candidate) => candidate.email?.toLowerCase() === wanted)?.id
      // Search results leave out federated identities.
      const user = id === undefined ? undefined : await find(id)
      return user && recordOf(user)
    },
    async list({ search: part = '', limit }) {
      const max = String(Math.min(limit, MAX_LISTED_USERS))
      // Without the stars Keycloak only matches prefixes.
      const patterns = part.split(/\s+/).flatMap((word) => (word === '' ? [] : `*${word}*`))
      const [found, tenants, external] = await Promise.all([
        search({ max, ...(patterns.length > 0 && { search: patterns.join(' ') }) }),
        organizations.tenantsByMember(),
        externalIds(),
      ])
      return found.map((user) => {
        const record = userOf(user, tenants.get(user.id) ?? [])
        return { ...record, isExternal: record.isExternal || external.has(user.id) }
      })
    },
  }
}

type UserPasswords = Pick<UserDirectory, 'setPassword' | 'hasLocalPassword' | 'signOut'>

function userPasswords(admin: KeycloakAdmin): UserPasswords {
  async function sessionsAt(path: string): Promise<string[]> {
    const { body } = await admin.call('GET', path)
    return parseAdminAnswer(Identified, body).map(({ id }) => id)
  }
  /** Offline sessions are listed separately, per client with an offline grant. */
  async function lastingSessions(userId: string): Promise<string[]> {
    const { body } = await admin.call('GET', `${pathOf(userId)}/consents`)
    const found = new Set<string>()
    for (const { client } of parseAdminAnswer(Consents, body).flatMap(({ additionalGrants }) => additionalGrants)) {
      const path = `${pathOf(userId)}/offline-sessions/${encodeURIComponent(client)}`
      for (const id of await sessionsAt(path)) found.add(id)
    }
    return [...found]
  }
  /** @param kept the session that goes on */
  async function endSessions(userId: string, kept: string | undefined): Promise<void> {
    const end = async (id: string, query = '') => {
      if (id === kept) return
      await admin.call('DELETE', `/sessions/${encodeURIComponent(id)}${query}`, { accepted: [404] })
    }
    for (const id of await sessionsAt(`${pathOf(userId)}/sessions`)) await end(id)
    for (const id of await lastingSessions(userId)) await end(id, '?isOffline=true')
  }
  const signOut = async (userId: string) => {
    const { status } = await admin.call('POST', `${pathOf(userId)}/logout`, { accepted: [404] })
    // Logout only invalidates offline tokens of an earlier second: a token from this very second would stay valid.
    if (status !== 404) await endSessions(userId, undefined)
  }
  return {
    signOut,
    async setPassword(userId, password, { keepSession } = {}) {
      const answer = await admin.call('PUT', `${pathOf(userId)}/reset-password`, {
        body: { type: 'password', value: password, temporary: false },
        accepted: [400, 404],
      })
      if (answer.status === 404) throw new IdentityProviderError('NotFound', 'There is no such user.')
      assertAccepted(answer, true)
      if (keepSession === undefined) await signOut(userId)
      else await endSessions(userId, keepSession)
    },
    async hasLocalPassword(userId) {
      const { status, body } = await admin.call('GET', `${pathOf(userId)}/credentials`, { accepted: [404] })
      if (status === 404) return false
      return parseAdminAnswer(z.array(z.looseObject({ type: z.string() })), body).some(
        ({ type }) => type === 'password',
      )
    },
  }
}

const Realm = z.looseObject({ defaultRole: z.looseObject({ name: z.string() }).optional() })

/** The admin API assigns ids itself; an import accepts the wanted id. */
async function createUser(
  admin: KeycloakAdmin,
  { existing, recordOf }: UserReads,
  { setPassword }: UserPasswords,
  { id: wanted, userName: username, password, email, emailVerified, firstName, lastName }: NewUser,
): Promise<UserRecord> {
  const user = { username, email, emailVerified, firstName, lastName, enabled: true }
  const accepted = [400, 409]
  if (wanted !== undefined) {
    // An import assigns no roles. Without the default role, clients get no refresh tokens for the user.
    const { defaultRole } = parseAdminAnswer(Realm, (await admin.call('GET', '')).body)
    const realmRoles = defaultRole === undefined ? [] : [defaultRole.name]
    const body = { ifResourceExists: 'FAIL', users: [{ id: wanted, ...user, realmRoles }] }
    assertAccepted(await admin.call('POST', '/partialImport', { body, accepted }), false)
    const made = await recordOf(await existing(wanted))
    if (password !== undefined) await setPassword(wanted, password)
    return made
  }
  const credentials = [{ type: 'password', value: password, temporary: false }]
  const body = { ...user, ...(password === undefined ? {} : { credentials }) }
  const answer = await admin.call('POST', '/users', { body, accepted })
  assertAccepted(answer, password !== undefined)
  return recordOf(await existing(requireCreatedId(answer)))
}

function userOf(user: User, tenantIds: readonly string[]): UserRecord {
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

function requireCreatedId({ location }: AdminAnswer): string {
  const id = location?.split('/').at(-1)
  if (id === undefined || id === '') throw unreadable()
  return id
}

/** @throws IdentityProviderError if Keycloak refused the write */
function assertAccepted(answer: AdminAnswer, hasPassword: boolean): void {
  if (answer.status === 409) {
    throw new IdentityProviderError('NameTaken', 'The user name or the address is taken.')
  }
  if (answer.status === 400) throw refusalError(answer, hasPassword)
}

/** Keycloak answers 400 for passwords that break its policy, and for profiles that break its rules. */
function refusalError({ body }: AdminAnswer, hasPassword: boolean): IdentityProviderError {
  const text = JSON.stringify(body ?? '').toLowerCase()
  return hasPassword && text.includes('password')
    ? new IdentityProviderError('PasswordRefused', 'The password does not follow the rules for passwords.')
    : new IdentityProviderError('Unavailable', 'Keycloak refused the user: its profile rules do not allow it.')
}
