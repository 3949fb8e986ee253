import { randomUUID } from 'node:crypto'
import { IdentityProviderError, type NewUser, type UserChange, type UserDirectory, type UserRecord } from './port.ts'

/** Users in memory with plain passwords, for tests. */
export class FakeUserDirectory implements UserDirectory {
  readonly users = new Map<string, UserRecord>()
  readonly passwords = new Map<string, string>()
  /** The session that the last password change kept. */
  keptSession: string | undefined

  put(user: Partial<UserRecord> & { userName: string }): UserRecord {
    const base = { id: randomUUID(), emailVerified: true, isEnabled: true, isExternal: false, tenantIds: [] }
    const whole: UserRecord = { ...base, createdAt: 0, ...user }
    this.users.set(whole.id, whole)
    return whole
  }

  async find(userId: string) {
    return this.users.get(userId)
  }

  async findByEmail(email: string) {
    return [...this.users.values()].find((user) => user.email?.toLowerCase() === email.trim().toLowerCase())
  }

  async list({ search = '', limit }: { search?: string; limit: number }) {
    return [...this.users.values()].filter(({ userName }) => userName.includes(search)).slice(0, limit)
  }

  async create({ password, ...user }: NewUser) {
    if ((await this.findByEmail(user.email ?? '')) !== undefined)
      throw new IdentityProviderError('NameTaken', 'The address is taken.')
    const made = this.put(user as Partial<UserRecord> & { userName: string })
    if (password !== undefined) this.passwords.set(made.id, password)
    return made
  }

  async update(userId: string, change: UserChange) {
    const user = this.#requireUser(userId)
    return this.put({ ...user, ...change } as UserRecord)
  }

  async setPassword(userId: string, password: string, { keepSession }: { keepSession?: string | undefined } = {}) {
    this.keptSession = keepSession
    this.passwords.set(this.#requireUser(userId).id, password)
  }

  async hasLocalPassword(userId: string) {
    return this.passwords.has(userId)
  }

  async countIn(tenantIds: readonly string[]) {
    const everybody = [...this.users.values()]
    const countOf = (id: string) => everybody.filter((user) => user.tenantIds.includes(id)).length
    return new Map(tenantIds.map((id) => [id, countOf(id)]))
  }

  async joinTenant(userId: string, tenantId: string) {
    const user = this.#requireUser(userId)
    this.put({ ...user, tenantIds: [...new Set([...user.tenantIds, tenantId])] })
  }

  async leaveTenant(userId: string, tenantId: string) {
    const user = this.users.get(userId)
    if (user !== undefined) this.put({ ...user, tenantIds: user.tenantIds.filter((id) => id !== tenantId) })
  }

  async signOut() {}

  async delete(userId: string) {
    this.users.delete(userId)
  }

  #requireUser(userId: string): UserRecord {
    const user = this.users.get(userId)
    if (user === undefined) throw new IdentityProviderError('NotFound', 'There is no such user.')
    return user
  }
}
