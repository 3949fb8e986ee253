import { randomUUID } from 'node:crypto'
import { kubeFailureOf } from '../../core/kubeFailure.ts'
import { isUuid } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { compareTexts } from '../../core/textOrder.ts'
import type { PlatformUser } from '../../crds/identity.ts'
import {
  type LocalObjects,
  metadataOf,
  namespace,
  putSecret,
  readByName,
  readByUuid,
  requireUserFound,
  typeMetaOf,
} from './localObjects.ts'
import { satisfiesPasswordRules } from './passwordRules.ts'
import { IdentityProviderError, type UserDirectory, type UserRecord } from './port.ts'
import type { PasswordRules } from './provider.ts'

export type LocalUsersOptions = LocalObjects & {
  /** A PlatformUser cache that includes this process's own writes; without it, the API server is asked. */
  users?: { list(): readonly KubeObject[]; get(namespace: string, name: string): KubeObject | undefined }
  rules: PasswordRules
  /** Returns the stored form of a password. */
  hash: (password: string, keepSession?: string) => Promise<string>
  /** Ends the user's sessions, except the kept one. */
  endSessions: (userId: string, keepSession?: string) => Promise<void>
}

type UserObject = PlatformUser & KubeObject

/** Attempts of a write that conflicts with others. */
const MAX_WRITE_ATTEMPTS = 5

const passwordSecretName = (userId: string) => `user-${userId}-password`

/** Users as PlatformUser objects. Their passwords are Secrets owned by them. */
export function localUsers(options: LocalUsersOptions): UserDirectory {
  const reads = userReads(options)
  const passwords = userPasswords(options, reads)
  return {
    ...userLookups(reads),
    ...userWrites(options, reads, passwords),
    ...userTenants(options, reads),
    setPassword: passwords.setPassword,
    hasLocalPassword: passwords.hasLocalPassword,
    async signOut(userId) {
      if (isUuid(userId)) await options.endSessions(userId)
    },
  }
}

type UserReads = ReturnType<typeof userReads>

function userReads({ client, resources, users }: LocalUsersOptions) {
  /** Reads from the API server: another replica may just have created the user. */
  const newest = (userId: string) => readByUuid<UserObject>(client, resources.user, userId)
  const isLive = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined
  return {
    newest,
    async find(userId: string): Promise<UserObject | undefined> {
      if (users === undefined) return newest(userId)
      const found = users.get(namespace, userId) as UserObject | undefined
      return found !== undefined && isLive(found) ? found : undefined
    },
    async all(): Promise<UserObject[]> {
      const objects = users?.list() ?? (await client.list<UserObject>(resources.user, { namespace })).items
      return (objects as readonly UserObject[]).filter(isLive)
    },
  }
}

function userLookups({ find, all }: UserReads): Pick<UserDirectory, 'find' | 'findByEmail' | 'list'> {
  return {
    async find(userId) {
      const found = await find(userId)
      return found && userOf(found)
    },
    async findByEmail(email) {
      const found = (await all()).find(({ spec }) => equalsIgnoreCase(email.trim(), spec.email))
      return found && userOf(found)
    },
    async list({ search = '', limit }) {
      const part = search.toLowerCase()
      const nameOf = ({ firstName = '', lastName = '' }: UserObject['spec']) => `${firstName} ${lastName}`.trim()
      const texts = ({ spec }: UserObject) => [spec.userName, spec.email ?? '', spec.displayName ?? '', nameOf(spec)]
      const found = (await all()).filter((user) => texts(user).some((text) => text.toLowerCase().includes(part)))
      return found
        .map(userOf)
        .sort((one, other) => compareTexts(one.userName, other.userName))
        .slice(0, limit)
    },
  }
}

function userWrites(
  { client, resources, endSessions }: LocalUsersOptions,
  { newest, all }: UserReads,
  { assertAccepted, storePassword }: UserPasswords,
): Pick<UserDirectory, 'create' | 'update' | 'delete'> {
  async function assertFree(userName: string | undefined, email: string | undefined, except?: string): Promise<void> {
    const others = (await all()).filter(({ metadata }) => metadata.name !== except)
    if (others.some(({ spec }) => equalsIgnoreCase(userName, spec.userName) || equalsIgnoreCase(email, spec.email))) {
      throw new IdentityProviderError('NameTaken', 'The user name or the address is taken.')
    }
  }
  async function createNew(user: UserObject): Promise<UserObject> {
    try {
      return await client.create<UserObject>(resources.user, user)
    } catch (error) {
      if (kubeFailureOf(error)?.reason === 'AlreadyExists')
        throw new IdentityProviderError('NameTaken', 'The id is taken.')
      throw error
    }
  }
  return {
    async create({ password, id = randomUUID(), userName, email, emailVerified, firstName, lastName }) {
      await assertFree(userName, email, id)
      if (password !== undefined) assertAccepted(password, { userName, email })
      const spec = { userName, email, emailVerified, firstName, lastName, isEnabled: true, isExternal: false }
      const made = await createNew({
        ...typeMetaOf(resources.user),
        metadata: metadataOf(id),
        spec: { ...withoutUndefined(spec), tenantIds: [] },
      } as unknown as UserObject)
      if (password !== undefined) await storePassword(made, password)
      return userOf(made)
    },
    async update(userId, change) {
      const found = requireUserFound(await newest(userId))
      if (change.email !== undefined) await assertFree(undefined, change.email, userId)
      const { uid } = found.metadata
      const patch = { spec: withoutUndefined(change) }
      const next = await client.mergePatch<UserObject>(resources.user, { namespace, name: userId }, patch, { uid })
      return userOf(next)
    },
    async delete(userId) {
      if (!isUuid(userId)) return
      await client.remove(resources.user, { namespace, name: userId })
      await client.remove(resources.secret, { namespace, name: passwordSecretName(userId) })
      await endSessions(userId)
    },
  }
}

type UserPasswords = ReturnType<typeof userPasswords>

function userPasswords(options: LocalUsersOptions, { find, newest }: UserReads) {
  const { client, resources, rules, hash, endSessions } = options
  function assertAccepted(password: string, user: { userName: string; email?: string | undefined }): void {
    if (!satisfiesPasswordRules(password, rules, user)) {
      throw new IdentityProviderError('PasswordRefused', 'The password does not follow the rules for passwords.')
    }
  }
  async function storePassword(user: UserObject, password: string, keepSession?: string): Promise<void> {
    const { apiVersion, kind, metadata } = user
    const data = secretData({ 'password.json': await hash(password, keepSession) })
    // Garbage-collected with the user.
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }]
    await putSecret(options, { ...metadataOf(passwordSecretName(metadata.name)), ownerReferences }, data)
  }
  return {
    assertAccepted,
    storePassword,
    async setPassword(userId: string, password: string, { keepSession }: { keepSession?: string } = {}): Promise<void> {
      const found = requireUserFound(await newest(userId))
      assertAccepted(password, found.spec)
      await storePassword(found, password, keepSession)
      await endSessions(userId, keepSession)
    },
    async hasLocalPassword(userId: string): Promise<boolean> {
      if ((await find(userId)) === undefined) return false
      return (await readByName(client, resources.secret, passwordSecretName(userId))) !== undefined
    },
  }
}

function userTenants(
  { client, resources }: LocalUsersOptions,
  { newest, all }: UserReads,
): Pick<UserDirectory, 'countIn' | 'joinTenant' | 'leaveTenant'> {
  /**
   * Replaces the list of tenants, with a retry on conflict, so that no concurrent change is lost.
   *
   * @param change returns the new list, or undefined if nothing has to change
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
        if (kubeFailureOf(error)?.reason !== 'Conflict' || attempt >= MAX_WRITE_ATTEMPTS) throw error
      }
    }
  }
  return {
    async countIn(tenantIds) {
      const counts = new Map(tenantIds.map((id) => [id, 0]))
      for (const user of await all())
        for (const id of new Set(userOf(user).tenantIds)) {
          const count = counts.get(id)
          if (count !== undefined) counts.set(id, count + 1)
        }
      return counts
    },
    async joinTenant(userId, tenantId) {
      requireUserFound(await newest(userId))
      await changeTenants(userId, (ids) => (ids.includes(tenantId) ? undefined : [...ids, tenantId]))
    },
    async leaveTenant(userId, tenantId) {
      await changeTenants(userId, (ids) => (ids.includes(tenantId) ? ids.filter((id) => id !== tenantId) : undefined))
    },
  }
}

const equalsIgnoreCase = (one: string | undefined, other: string | undefined) =>
  one !== undefined && one.toLowerCase() === other?.toLowerCase()

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function userOf({ metadata, spec, status }: UserObject): UserRecord {
  const { userName, email, firstName, lastName, displayName } = spec
  const lastSignInAt = status?.lastSignInAt
  return {
    id: metadata.name,
    userName,
    ...(email !== undefined && { email }),
    emailVerified: spec.emailVerified ?? false,
    ...(firstName !== undefined && { firstName }),
    ...(lastName !== undefined && { lastName }),
    ...(displayName !== undefined && { displayName }),
    isEnabled: spec.isEnabled ?? true,
    isExternal: spec.isExternal ?? false,
    tenantIds: spec.tenantIds ?? [],
    createdAt: Date.parse(metadata.creationTimestamp ?? '1970-01-01T00:00:00Z'),
    ...(lastSignInAt !== undefined && { lastSignInAt: Date.parse(lastSignInAt) }),
  }
}
