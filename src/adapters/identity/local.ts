import { randomUUID } from 'node:crypto'
import { type Clock, timestamp } from '../../core/clock.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { PlatformUser } from '../../crds/identity.ts'
import type { KubeClient } from '../../kube/client.ts'
import { hashPassword, isPassword, type PasswordRecord, readPasswordRecord } from './passwordHash.ts'
import { IdentityProviderError, type NewUser, type UserChange, type UserDirectory, type UserRecord } from './port.ts'

type UserObject = PlatformUser & KubeObject
type SecretObject = KubeObject & { data?: Record<string, string> }

export type LocalDirectoryOptions = {
  client: Pick<KubeClient, 'get' | 'create' | 'update' | 'mergePatch' | 'remove'>
  /** PlatformUser objects, own writes included at once. */
  users: { list(): readonly KubeObject[]; get(namespace: string, name: string): KubeObject | undefined }
  /** Of PlatformUser and of Secret. */
  resources: { user: Resource; secret: Resource }
  clock: Clock
}

const namespace = SYSTEM_NAMESPACE
const PASSWORD_KEY = 'password.json'

/** The Secret that holds the hash of a user's password. */
export function passwordSecretName(userId: string): string {
  return `user-${userId}-password`
}

/** The users of the local identity provider: PlatformUser objects, and a Secret for the password of each. */
export function createLocalDirectory(options: LocalDirectoryOptions): UserDirectory {
  return new LocalDirectory(options)
}

class LocalDirectory implements UserDirectory {
  readonly #options: LocalDirectoryOptions

  constructor(options: LocalDirectoryOptions) {
    this.#options = options
  }

  async find(userId: string): Promise<UserRecord | undefined> {
    const found = this.#object(userId)
    return found === undefined ? undefined : recordOf(found)
  }

  async findByEmail(email: string): Promise<UserRecord | undefined> {
    const wanted = email.trim().toLowerCase()
    const found = this.#all().find(({ spec }) => spec.email?.toLowerCase() === wanted)
    return found === undefined ? undefined : recordOf(found)
  }

  async list({ search, limit }: { search?: string; limit: number }): Promise<UserRecord[]> {
    const part = search?.toLowerCase() ?? ''
    const records = this.#all().map(recordOf)
    const found = records.filter((user) => textsOf(user).some((text) => text.toLowerCase().includes(part)))
    return found.sort((one, other) => one.userName.localeCompare(other.userName)).slice(0, limit)
  }

  async create(user: NewUser): Promise<UserRecord> {
    const { client, resources } = this.#options
    const { password, id = randomUUID(), ...fields } = user
    const isTaken = this.#all().some(
      ({ metadata, spec }) =>
        metadata.name !== id && (same(spec.userName, user.userName) || same(spec.email, user.email)),
    )
    if (isTaken) throw new IdentityProviderError('NameTaken', 'The user name or the e-mail address is taken.')
    const spec = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    const object: KubeObject = {
      apiVersion: `${resources.user.group}/${resources.user.version}`,
      kind: resources.user.kind,
      metadata: { namespace, name: id, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
      spec,
    }
    let made: KubeObject
    try {
      made = await client.create(resources.user, object)
    } catch (error) {
      if (reasonOf(error) === 'AlreadyExists') throw new IdentityProviderError('NameTaken', 'The id is taken.')
      throw error
    }
    if (password !== undefined) await this.setPassword(id, password)
    return recordOf(made as UserObject)
  }

  async update(userId: string, change: UserChange): Promise<UserRecord> {
    const { client, resources } = this.#options
    const user = this.#existing(userId)
    const { uid } = user.metadata
    const patch = { spec: change }
    return recordOf(
      (await client.mergePatch(resources.user, { namespace, name: userId }, patch, { uid })) as UserObject,
    )
  }

  async setPassword(userId: string, password: string): Promise<void> {
    const { client, resources, clock } = this.#options
    const user = await this.#newest(userId)
    const record = await hashPassword(password, timestamp(clock.now()))
    const data = { [PASSWORD_KEY]: Buffer.from(JSON.stringify(record)).toString('base64') }
    const { apiVersion, kind, metadata } = user
    const name = passwordSecretName(userId)
    const secret: SecretObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        namespace,
        name,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
        // It goes with the user, whoever deletes that.
        ownerReferences: [{ apiVersion, kind, name: userId, uid: metadata.uid ?? '' }],
      },
      type: 'Opaque',
      data,
    }
    try {
      await client.create(resources.secret, secret)
    } catch (error) {
      if (reasonOf(error) !== 'AlreadyExists') throw error
      const { resourceVersion } = (await client.get(resources.secret, { namespace, name })).metadata
      const metadata = { ...secret.metadata, ...(resourceVersion !== undefined && { resourceVersion }) }
      await client.update(resources.secret, { ...secret, metadata })
    }
  }

  async hasLocalPassword(userId: string): Promise<boolean> {
    return this.#object(userId) !== undefined && (await this.#password(userId)) !== undefined
  }

  async verifyPassword(userId: string, password: string): Promise<boolean> {
    const user = this.#object(userId)
    const record = user !== undefined && recordOf(user).isEnabled ? await this.#password(userId) : undefined
    return isPassword(password, record)
  }

  async delete(userId: string): Promise<void> {
    if (!isUuid(userId)) return
    await this.#options.client.remove(this.#options.resources.user, { namespace, name: userId })
  }

  async #password(userId: string): Promise<PasswordRecord | undefined> {
    const { client, resources } = this.#options
    try {
      const found = await client.get<SecretObject>(resources.secret, { namespace, name: passwordSecretName(userId) })
      return readPasswordRecord(Buffer.from(found.data?.[PASSWORD_KEY] ?? '', 'base64').toString('utf8'))
    } catch (error) {
      if (reasonOf(error) === 'NotFound') return undefined
      throw error
    }
  }

  #all(): UserObject[] {
    const all = this.#options.users.list() as readonly UserObject[]
    return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  #object(userId: string): UserObject | undefined {
    const found = this.#options.users.get(namespace, userId) as UserObject | undefined
    return found?.metadata.deletionTimestamp === undefined ? found : undefined
  }

  #existing(userId: string): UserObject {
    const found = this.#object(userId)
    if (found === undefined) throw new IdentityProviderError('NotFound', `There is no user ${userId}.`)
    return found
  }

  /** From the API server: a user made by another replica a moment ago counts. */
  async #newest(userId: string): Promise<UserObject> {
    const { client, resources } = this.#options
    if (!isUuid(userId)) throw new IdentityProviderError('NotFound', 'There is no such user.')
    try {
      return await client.get<UserObject>(resources.user, { namespace, name: userId })
    } catch (error) {
      if (reasonOf(error) !== 'NotFound') throw error
      throw new IdentityProviderError('NotFound', `There is no user ${userId}.`, { cause: error })
    }
  }
}

function same(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one.toLowerCase() === other.toLowerCase()
}

function textsOf({ userName, email, firstName, lastName }: UserRecord): string[] {
  return [userName, email ?? '', [firstName, lastName].filter((name) => name !== undefined).join(' ')]
}

function reasonOf(error: unknown): unknown {
  return error instanceof Error ? (error as Error & { reason?: unknown }).reason : undefined
}

/** Specs that kubectl wrote before a default was there are read as if they had it. */
function recordOf({ metadata, spec, status }: UserObject): UserRecord {
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
