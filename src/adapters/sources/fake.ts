import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import {
  type CheckedAccount,
  type CircuitPort,
  type Connection,
  type CreatedApp,
  type Repository,
  requireOwnHost,
  SourceError,
  type SourcePort,
} from './port.ts'
import { repositoryOf } from './repositories.ts'

const OWN_HOST = 'https://git.platform.test'

/** A provider in memory with one valid token and one repository per address. */
export class FakeSources implements SourcePort {
  /** The only valid token, password or private key. */
  readonly good: string
  readonly #ownHost: string
  readonly repositoriesMade: Repository[] = []
  readonly hooks = new Map<string, string>()
  isAway = false
  /** When the App's installation was suspended, if it is. */
  suspendedAt: string | undefined

  constructor(good = 'good-token', ownHost = OWN_HOST) {
    this.good = good
    this.#ownHost = ownHost
  }

  async check(connection: Connection): Promise<CheckedAccount> {
    this.#signIn(connection)
    if (connection.provider === 'GitHub' && connection.installationId !== '1')
      throw new SourceError('NotFound', 'The App has no such installation.')
    const { suspendedAt } = this
    const installation = { repositorySelection: 'All' as const, permissions: { contents: 'read' }, suspendedAt }
    const hostKey = connection.baseUrl.startsWith('ssh:') ? { hostKey: 'ssh-ed25519 AAAA' } : {}
    return { accountName: 'acme', accountType: 'Organization', installation, ...hostKey }
  }

  async repositories(connection: Connection, search = ''): Promise<Repository[]> {
    this.#signIn(connection)
    const all = [repository('1', 'site'), ...this.repositoriesMade]
    return all.filter(({ fullName }) => fullName.includes(search))
  }

  async token(connection: Connection, id: string) {
    this.#signIn(connection)
    const { cloneUrl } = this.#find(id)
    return { token: 'clone-token', username: 'x', cloneUrl, expiresAt: null, permissions: { contents: 'read' } }
  }

  async ensureWebhook(connection: Connection, id: string, hook: { url: string; secret: string }) {
    if (['Git', 'Registry'].includes(connection.provider)) throw new SourceError('Unsupported', 'No webhooks here.')
    this.#signIn(connection)
    this.#find(id)
    const created = !this.hooks.has(hook.url)
    this.hooks.set(hook.url, hook.secret)
    const never = { lastDeliveryAt: null, lastDeliveryStatus: null }
    return { url: hook.url, isActive: true, events: ['push'], ...never, created }
  }

  async createRepository(connection: Connection, { name }: { name: string }): Promise<Repository> {
    this.#signIn(connection)
    if (this.repositoriesMade.some((one) => one.name === name)) throw new SourceError('NameTaken', 'It is there.')
    const made = repository(String(this.repositoriesMade.length + 2), name)
    this.repositoriesMade.push(made)
    return made
  }

  async usage(connection: Connection) {
    this.#signIn(connection)
    return { repositoryCount: this.repositoriesMade.length, kilobytes: this.repositoriesMade.length * 10 }
  }

  async makeApp(_baseUrl: string, code: string, hook: { secret: string }): Promise<CreatedApp> {
    if (code !== 'good-code') throw new SourceError('NotFound', 'The code is of no App.')
    const { appId, appSlug, privateKey, webhookSecret } = CREDENTIAL_KEYS
    const credentials = { [appId]: '7', [appSlug]: 'app', [privateKey]: this.good, [webhookSecret]: hook.secret }
    return { credentials, slug: 'app', htmlUrl: 'https://github.test/apps/app' }
  }

  async verifyRegistry(connection: Connection) {
    const isAuthenticated = this.#isGood(connection)
    return { isReachable: !this.isAway, isAuthenticated, canPull: isAuthenticated, digest: null, message: null }
  }

  #isGood({ credentials }: Connection): boolean {
    const { token, password, privateKey } = CREDENTIAL_KEYS
    return [credentials[token], credentials[password], credentials[privateKey]].includes(this.good)
  }

  #signIn(connection: Connection): void {
    requireOwnHost(connection, this.#ownHost)
    if (this.isAway || connection.baseUrl.includes('nobody'))
      throw new SourceError('Unreachable', 'The provider does not answer.')
    if (!this.#isGood(connection)) throw new SourceError('CredentialRejected', 'The provider refuses the credentials.')
  }

  #find(id: string): Repository {
    const found = [repository('1', 'site'), ...this.repositoriesMade].find((one) => one.id === id)
    if (found === undefined) throw new SourceError('NotFound', 'There is no such repository.')
    return found
  }
}

/** The platform's own Git host in memory. */
export class FakeCircuit implements CircuitPort {
  readonly baseUrl: string | undefined
  readonly accounts = new Set<string>()
  /** The current token of each opening. */
  readonly opened: (string | undefined)[] = []
  readonly #token: string

  constructor(baseUrl: string | undefined = OWN_HOST, token = 'good-token') {
    this.baseUrl = baseUrl
    this.#token = token
  }

  async openAccount(name: string, current?: string) {
    this.accounts.add(name)
    this.opened.push(current)
    return { token: this.#token }
  }

  async removeAccount(name: string) {
    this.accounts.delete(name)
  }
}

function repository(id: string, name: string): Repository {
  const url = `https://provider.test/acme/${name}`
  return repositoryOf({ id, fullName: `acme/${name}`, url, cloneUrl: `${url}.git`, defaultBranch: 'main' })
}
