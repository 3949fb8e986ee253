import { randomBytes, randomUUID } from 'node:crypto'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, ObjectRef, Resource } from '../../core/object.ts'
import type { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import type { KubeClient } from '../../kube/client.ts'
import { createLocalFederation } from './localFederation.ts'
import {
  type ClientDirectory,
  type ClientRecord,
  IdentityProviderError,
  type NewClient,
  type UserDirectory,
  type UserRecord,
} from './port.ts'
import type { IdentityAdministration, PasswordRules } from './provider.ts'

export type LocalProviderOptions = {
  client: Pick<KubeClient, 'get' | 'list' | 'create' | 'mergePatch' | 'remove'>
  resources: { user: Resource; client: Resource; secret: Resource; connection: Resource }
  /** PlatformUser objects from a cache that holds own writes at once; the API server is asked if there is none. */
  users?: { list(): readonly KubeObject[]; get(namespace: string, name: string): KubeObject | undefined }
  rules: PasswordRules
  /** The text that is stored for a password. */
  hash: (password: string, keepSession?: string) => Promise<string>
  /** Ends what the user signed in to, but for the session that is kept. */
  endSessions: (userId: string, keepSession?: string) => Promise<void>
}

type UserObject = PlatformUser & KubeObject
type ClientObject = PlatformClient & KubeObject

/** Times that a write which somebody else's came before is tried. */
const CONFLICTS = 5
const namespace = SYSTEM_NAMESPACE
const metadataOf = (name: string) => ({ namespace, name, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } })
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** The local identity provider as the platform administers it: PlatformUser and PlatformClient objects and Secrets. */
export function createLocalProvider(options: LocalProviderOptions): IdentityAdministration {
  return {
    users: localUsers(options),
    clients: localClients(options),
    federation: createLocalFederation({ client: options.client, connection: options.resources.connection }),
    passwordRules: async () => options.rules,
  }
}

function localUsers({ client, resources, users, rules, hash, endSessions }: LocalProviderOptions): UserDirectory {
  /** From the API server: a user made by another replica a moment ago counts. */
  const newest = (userId: string) => read<UserObject>(client, resources.user, userId)
  const isLive = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined
  async function find(userId: string): Promise<UserObject | undefined> {
    if (users === undefined) return newest(userId)
    const found = users.get(namespace, userId) as UserObject | undefined
    return found !== undefined && isLive(found) ? found : undefined
  }
  async function all(): Promise<UserObject[]> {
    const objects = users?.list() ?? (await client.list<UserObject>(resources.user, { namespace })).items
    return (objects as readonly UserObject[]).filter(isLive)
  }
  const same = (one: string | undefined, other: string | undefined) =>
    one !== undefined && one.toLowerCase() === other?.toLowerCase()
  async function assertFree(userName: string | undefined, email: string | undefined, except?: string): Promise<void> {
    const others = (await all()).filter(({ metadata }) => metadata.name !== except)
    if (others.some(({ spec }) => same(userName, spec.userName) || same(email, spec.email))) {
      throw new IdentityProviderError('NameTaken', 'The user name or the address is taken.')
    }
  }
  function assertAccepted(password: string, user: { userName: string; email?: string | undefined }): void {
    if (!keepsRules(password, rules, user)) {
      throw new IdentityProviderError('PasswordRefused', 'The password does not keep the rules for passwords.')
    }
  }
  async function storePassword(user: UserObject, password: string, keepSession?: string): Promise<void> {
    const { apiVersion, kind, metadata } = user
    const name = `user-${metadata.name}-password`
    const data = { 'password.json': base64(await hash(password, keepSession)) }
    // It goes with the user, whoever deletes that.
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }]
    await putSecret({ client, resources }, { ...metadataOf(name), ownerReferences }, data)
  }
  async function createNew(user: UserObject): Promise<UserObject> {
    try {
      return await client.create<UserObject>(resources.user, user)
    } catch (error) {
      if (reasonOf(error) === 'AlreadyExists') throw new IdentityProviderError('NameTaken', 'The id is taken.')
      throw error
    }
  }
  /**
   * A list is replaced as a whole, so only over what was seen; what somebody wrote in between is read again.
   *
   * @param change answers the tenants as they should be, or undefined if nothing has to change
   */
  async function changeTenants(userId: string, change: (tenantIds: readonly string[]) => string[] | undefined) {
    for (let attempt = 1; ; attempt += 1) {
      const found = await newest(userId)
      const tenantIds = found && change(userOf(found).tenantIds)
      if (found === undefined || tenantIds === undefined) return
      const { name, uid, resourceVersion } = found.metadata
      const patch = { spec: { tenantIds } }
      try {
        await client.mergePatch(resources.user, { namespace, name }, patch, { uid, resourceVersion })
        return
      } catch (error) {
        if (reasonOf(error) !== 'Conflict' || attempt >= CONFLICTS) throw error
      }
    }
  }
  return {
    async find(userId, signal) {
      signal?.throwIfAborted()
      const found = await find(userId)
      return found && userOf(found)
    },
    async findByEmail(email) {
      const found = (await all()).find(({ spec }) => same(email.trim(), spec.email))
      return found && userOf(found)
    },
    async list({ search = '', limit }) {
      const part = search.toLowerCase()
      const nameOf = ({ firstName = '', lastName = '' }: UserObject['spec']) => `${firstName} ${lastName}`.trim()
      const texts = ({ spec }: UserObject) => [spec.userName, spec.email ?? '', nameOf(spec)]
      const found = (await all()).filter((user) => texts(user).some((text) => text.toLowerCase().includes(part)))
      return found
        .map(userOf)
        .sort((one, other) => (one.userName < other.userName ? -1 : 1))
        .slice(0, limit)
    },
    async create({ password, id = randomUUID(), userName, email, emailVerified, firstName, lastName }) {
      await assertFree(userName, email, id)
      if (password !== undefined) assertAccepted(password, { userName, email })
      const spec = { userName, email, emailVerified, firstName, lastName, isEnabled: true, isExternal: false }
      const made = await createNew({
        ...typeOf(resources.user),
        metadata: metadataOf(id),
        spec: { ...withoutUndefined(spec), tenantIds: [] },
      } as unknown as UserObject)
      if (password !== undefined) await storePassword(made, password)
      return userOf(made)
    },
    async update(userId, change) {
      const found = existing(await newest(userId))
      if (change.email !== undefined) await assertFree(undefined, change.email, userId)
      const { uid } = found.metadata
      const patch = { spec: withoutUndefined(change) }
      const next = await client.mergePatch<UserObject>(resources.user, { namespace, name: userId }, patch, { uid })
      return userOf(next)
    },
    async setPassword(userId, password, { keepSession } = {}) {
      const found = existing(await newest(userId))
      assertAccepted(password, found.spec)
      await storePassword(found, password, keepSession)
      await endSessions(userId, keepSession)
    },
    async hasLocalPassword(userId) {
      if ((await find(userId)) === undefined) return false
      return (await readAny(client, resources.secret, `user-${userId}-password`)) !== undefined
    },
    async joinTenant(userId, tenantId) {
      existing(await newest(userId))
      await changeTenants(userId, (ids) => (ids.includes(tenantId) ? undefined : [...ids, tenantId]))
    },
    async leaveTenant(userId, tenantId) {
      await changeTenants(userId, (ids) => (ids.includes(tenantId) ? ids.filter((id) => id !== tenantId) : undefined))
    },
    async signOut(userId) {
      if (isUuid(userId)) await endSessions(userId)
    },
    async delete(userId) {
      if (!isUuid(userId)) return
      await client.remove(resources.user, { namespace, name: userId })
      await client.remove(resources.secret, { namespace, name: `user-${userId}-password` })
      await endSessions(userId)
    },
  }
}

function localClients({ client, resources }: LocalProviderOptions): ClientDirectory {
  const find = (clientId: string) => read<ClientObject>(client, resources.client, clientId)
  const newSecret = () => randomBytes(32).toString('base64url')
  const store = (name: string, secret: string) =>
    putSecret({ client, resources }, metadataOf(name), { 'client-secret': base64(secret) })
  return {
    async find(clientId) {
      const found = await find(clientId)
      return found && clientOf(found)
    },
    async create({ clientId, displayName }: NewClient) {
      if (!isUuid(clientId)) throw new Error(`A client of the local identity provider is named by a uuid: ${clientId}`)
      if ((await find(clientId)) !== undefined) throw new IdentityProviderError('NameTaken', 'The client id is taken.')
      const [secret, secretName] = [newSecret(), `client-${clientId}`]
      // First the secret, so that the client is never there without it.
      await store(secretName, secret)
      const made = await client.create<ClientObject>(resources.client, {
        ...typeOf(resources.client),
        metadata: metadataOf(clientId),
        spec: { displayName, description: '', isEnabled: true, secretName },
      } as unknown as ClientObject)
      return { ...clientOf(made), secret }
    },
    async rotateSecret(clientId) {
      const found = existing(await find(clientId))
      const secret = newSecret()
      await store(found.spec.secretName, secret)
      return { ...clientOf(found), secret }
    },
    async setEnabled(clientId, isEnabled) {
      existing(await find(clientId))
      await client.mergePatch(resources.client, { namespace, name: clientId }, { spec: { isEnabled } })
    },
    async delete(clientId) {
      const found = await find(clientId)
      if (found === undefined) return
      await client.remove(resources.client, { namespace, name: clientId })
      await client.remove(resources.secret, { namespace, name: found.spec.secretName })
    },
  }
}

/** @param user what the password must not be */
export function keepsRules(
  password: string,
  rules: PasswordRules,
  user: { userName: string; email?: string | undefined },
): boolean {
  const count = (pattern: RegExp) => (password.match(pattern) ?? []).length
  const length = [...password].length
  const isName = [user.userName, user.email].some((name) => name?.toLowerCase() === password.toLowerCase())
  return (
    length >= rules.minLength &&
    length <= rules.maxLength &&
    count(/\p{Nd}/gu) >= rules.minDigits &&
    count(/\p{Ll}/gu) >= rules.minLowerCase &&
    count(/\p{Lu}/gu) >= rules.minUpperCase &&
    count(/[^\p{L}\p{Nd}]/gu) >= rules.minSpecialChars &&
    (rules.allowEmail || !isName)
  )
}

async function read<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
): Promise<T | undefined> {
  return isUuid(name) ? readAny<T>(client, resource, name) : undefined
}

async function readAny<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
): Promise<T | undefined> {
  const ref: ObjectRef = { namespace, name }
  try {
    const found = await client.get<T>(resource, ref)
    return found.metadata.deletionTimestamp === undefined ? found : undefined
  } catch (error) {
    if (reasonOf(error) === 'NotFound') return undefined
    throw error
  }
}

async function putSecret(
  { client, resources }: Pick<LocalProviderOptions, 'client' | 'resources'>,
  metadata: KubeObject['metadata'],
  data: Record<string, string>,
): Promise<void> {
  try {
    const secret = { ...typeOf(resources.secret), metadata, type: 'Opaque', data }
    await client.create<KubeObject>(resources.secret, secret as KubeObject)
  } catch (error) {
    if (reasonOf(error) !== 'AlreadyExists') throw error
    await client.mergePatch(resources.secret, { namespace, name: metadata.name }, { data })
  }
}

function typeOf({ group, version, kind }: Resource): { apiVersion: string; kind: string } {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}

function existing<T>(found: T | undefined): T {
  if (found === undefined) throw new IdentityProviderError('NotFound', 'There is no such user or client.')
  return found
}

/** This room sees the types of the kube room only, so its errors are told by their reason. */
function reasonOf(error: unknown): unknown {
  return error instanceof Error ? (error as Error & { reason?: unknown }).reason : undefined
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function userOf({ metadata, spec, status }: UserObject): UserRecord {
  const { userName, email, firstName, lastName } = spec
  const lastSignInAt = status?.lastSignInAt
  return {
    id: metadata.name,
    userName,
    ...(email !== undefined && { email }),
    emailVerified: spec.emailVerified ?? false,
    ...(firstName !== undefined && { firstName }),
    ...(lastName !== undefined && { lastName }),
    isEnabled: spec.isEnabled ?? true,
    isExternal: spec.isExternal ?? false,
    tenantIds: spec.tenantIds ?? [],
    createdAt: Date.parse(metadata.creationTimestamp ?? '1970-01-01T00:00:00Z'),
    ...(lastSignInAt !== undefined && { lastSignInAt: Date.parse(lastSignInAt) }),
  }
}

function clientOf({ metadata, spec }: ClientObject): ClientRecord {
  const { displayName, isEnabled } = spec
  return { clientId: metadata.name, principalId: metadata.name, displayName, isEnabled: isEnabled ?? true }
}
