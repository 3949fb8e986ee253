import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/core/clock.ts'
import { type Log, silentLog } from '../../src/core/log.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import type { GuessLimits } from '../../src/identity/guessLimiter.ts'
import { generateSigningKey, type SigningKey } from '../../src/identity/keyRing.ts'
import {
  hashPassword,
  PASSWORD_ENTRY,
  passwordSecretName,
  type StoredPassword,
  secretPasswords,
} from '../../src/identity/passwords.ts'
import { createIdentityProvider, type IdentityLimits, type IdentityProvider } from '../../src/identity/provider.ts'
import type { SigningKeys } from '../../src/identity/signingKeys.ts'
import { secretStateStore } from '../../src/identity/state.ts'
import { kubeUserStore } from '../../src/identity/users.ts'
import { secret } from '../../src/kube/builtin.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { Browser, pkcePair, type Shown } from './browser.ts'

export const ORIGIN = 'https://identity.example:8443'
export const ISSUER = `${ORIGIN}/realms/freehold`
export const PATH = '/realms/freehold/protocol/openid-connect'
export const USER = '6f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
export const PASSWORD = 'correct horse battery'
export const CALLBACK = 'http://127.0.0.1:49152/callback'

type Answer = { status: number; body: Record<string, string> }

/**
 * The local provider with one user, ada, served by two replicas over one API server in memory, and a browser in front
 * of it. New for each test.
 */
export function signInWorld() {
  let key: SigningKey
  let stored: StoredPassword
  let kube: FakeKubeClient
  let provider: IdentityProvider
  let replica: IdentityProvider
  let servers: Server[]
  let reach: string
  let otherReach: string
  let lines: string[]
  let accepted: string[] = []
  let browser: Browser

  before(async () => {
    key = await generateSigningKey(systemClock.now())
    stored = await hashPassword(PASSWORD)
  })

  beforeEach(async () => {
    kube = new FakeKubeClient()
    lines = []
    accepted = []
    seedUser({})
    kube.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'freehold-system', name: passwordSecretName(USER) },
      data: { [PASSWORD_ENTRY]: Buffer.from(JSON.stringify(stored)).toString('base64') },
    } as KubeObject)
    servers = []
    ;[provider, reach] = await serve()
    ;[replica, otherReach] = await serve()
    browser = new Browser(ORIGIN, { reach })
  })

  afterEach(async () => {
    await browser.close()
    for (const server of servers) server.close().closeAllConnections()
    provider.stop()
    replica.stop()
  })

  function seedUser(spec: object): void {
    kube.seed(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { namespace: 'freehold-system', name: USER },
      spec: {
        userName: 'ada',
        email: 'Ada@Example.com',
        emailVerified: true,
        firstName: 'Ada',
        lastName: 'Lovelace',
        isEnabled: true,
        isExternal: false,
        tenantIds: [],
        ...spec,
      },
    } as KubeObject)
  }
  function edit(change: (user: PlatformUser & KubeObject) => void): void {
    kube.edit<PlatformUser & KubeObject>(PlatformUser.resource, { namespace: 'freehold-system', name: USER }, change)
  }
  function disable(): void {
    edit((user) => {
      user.spec.isEnabled = false
    })
  }
  /** From now on another person has the id. */
  function replace(): void {
    edit(({ metadata }) => {
      Object.assign(metadata, { uid: randomUUID(), creationTimestamp: new Date(Date.now() + 5_000).toISOString() })
    })
  }

  async function serve(
    passwords?: GuessLimits,
    limits: Partial<IdentityLimits> = {},
  ): Promise<[IdentityProvider, string]> {
    const keys: SigningKeys = {
      ring: () => [key],
      signing: () => key,
      check: async () => {},
      onChange: () => () => {},
      stop: () => {},
    }
    const note = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message)
    const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note }
    const made = createIdentityProvider({
      issuer: ISSUER,
      realm: 'freehold',
      audience: 'platform-kubernetes-client',
      clients: { find: async () => undefined },
      users: kubeUserStore(kube, async () => (await kube.list<PlatformUser & KubeObject>(PlatformUser.resource)).items),
      passwords: secretPasswords(kube),
      // As the facade does: the password policy, then the Secret and the end of other sign-ins.
      changePassword: async ({ id }, password, keepSession) => {
        if (password.length < 8) return 'at least 8 characters.'
        const changedAt = new Date(systemClock.now()).toISOString()
        const next = await hashPassword(password, { changedAt, keepSession })
        kube.edit<KubeObject & { data?: object }>(
          secret,
          { namespace: 'freehold-system', name: passwordSecretName(id) },
          (object) => {
            object.data = { [PASSWORD_ENTRY]: Buffer.from(JSON.stringify(next)).toString('base64') }
          },
        )
        await secretStateStore(kube).removeOf(id, keepSession)
        return undefined
      },
      invitations: {
        openTo: async () =>
          accepted.length > 0 ? [] : [{ id: 'open', boundary: 'Shop <b>', roleName: 'Reader', invitedBy: 'Ann' }],
        async accept(_user, id) {
          if (accepted.length > 0) return 'The invitation is no longer open.'
          accepted.push(id)
          return undefined
        },
      },
      state: secretStateStore(kube),
      keys,
      log,
      limits: { refusalDelay: 0, ...limits, ...(passwords !== undefined && { passwords }) },
    })
    const server = createServer(made.handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    return [made, `http://127.0.0.1:${(server.address() as AddressInfo).port}`]
  }

  async function post(path: string, form: Record<string, string>, at = reach): Promise<Answer> {
    const answer = await fetch(`${at}${path}`, { method: 'POST', body: new URLSearchParams(form) })
    return { status: answer.status, body: (await answer.json()) as Record<string, string> }
  }
  const token = (form: Record<string, string>, at = reach) =>
    post(`${PATH}/token`, { client_id: 'freehold-cli', ...form }, at)
  const refresh = (refreshToken: string | undefined, at = reach) =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken ?? '' }, at)

  function authorizationUrl(challenge: string, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({
      client_id: 'freehold-cli',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: CALLBACK,
      state: 'the-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    })
    return `${PATH}/auth?${query}`
  }
  const submitPassword = (page: Shown, password = PASSWORD, login = 'ada', by = browser) =>
    by.submit(page, 'Sign in', { login, password })

  /** Through the pages to a code, and what it is exchanged for. */
  async function signIn(): Promise<{ code: string; verifier: string; answer: Answer }> {
    const { verifier, challenge } = pkcePair()
    const page = await browser.open(authorizationUrl(challenge))
    await submitPassword(page)
    const code = browser.left?.searchParams.get('code') ?? ''
    return { code, verifier, answer: await exchange(code, verifier) }
  }
  const exchange = (code: string, verifier: string, at = reach) =>
    token({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK }, at)
  const stateSecrets = async () =>
    (await kube.list(secret, { labelSelector: 'app.kubernetes.io/component=identity-state' })).items

  return {
    get browser() {
      return browser
    },
    get kube() {
      return kube
    },
    get reach() {
      return reach
    },
    get otherReach() {
      return otherReach
    },
    /** Ids of the invitations that were accepted on the account page. */
    get accepted() {
      return accepted
    },
    get lines() {
      return lines
    },
    get stored() {
      return stored
    },
    disable,
    replace,
    serve,
    post,
    token,
    refresh,
    authorizationUrl,
    submitPassword,
    signIn,
    exchange,
    stateSecrets,
  }
}
