import { type ChildProcess, execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformClient, PlatformUser } from '../../src/crds/identity.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { Browser, type Shown } from '../make/browser.ts'
import { makePerson, type TestPerson } from '../make/people.ts'
import { type Ended, endOf, freeholdSucceeds, freehold as runFreehold, spawnFreehold } from '../worlds/freehold.ts'
import { ranKubectl } from '../worlds/kubectl.ts'
import { call, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import {
  administrator,
  bindEdit,
  clientWithToken,
  makeServiceAccount,
  PLATFORM_VARIABLE,
  testPlatform,
} from '../worlds/tenant.ts'

type Login = {
  accessToken: string
  obtainedAt: number
  refreshToken?: string
  expiresAt: number
  credentialsFile?: string
}

describe('freehold login of people', () => {
  let admin: KubeClient
  let boundary: string
  let group: string
  let home: string
  let browser: Browser
  let issuer: URL
  let person: TestPerson
  const children = new Set<ChildProcess>()

  /** In a separate process; `onError` receives its stderr. */
  function start(words: string[], onError?: (text: string) => void): Promise<Ended> {
    const child = spawnFreehold(words, home, { env: { BROWSER: '/bin/true' }, stdio: ['ignore', 'pipe', 'pipe'] })
    children.add(child)
    return endOf(child, onError).finally(() => children.delete(child))
  }
  const freehold = (...words: string[]) => runFreehold(words, { home })
  const succeeds = (...words: string[]) => freeholdSucceeds(words, { home })

  const loginPath = () => join(home, '.local/state/freehold/login.json')
  const storedLogin = async () => JSON.parse(await readFile(loginPath(), 'utf8')) as Login
  const storeLogin = (login: Login) => writeFile(loginPath(), JSON.stringify(login), { mode: 0o600 })

  /** `freehold login`, while `visit` does what the person would do with the terminal's output. */
  async function login(words: string[], said: RegExp, visit: (found: RegExpExecArray) => Promise<void>) {
    let visiting: Promise<void> | undefined
    const ended = await start(['login', ...words], (text) => {
      const found = said.exec(text)
      if (found !== null) visiting ??= visit(found)
    })
    await visiting
    return ended
  }
  /** The page may come before the provider's cache knows a new person: then it is requested again. */
  async function signInOn(page: Shown, { userName, password }: Pick<TestPerson, 'userName' | 'password'>) {
    let shown = page
    await until('the sign-in', async () => {
      shown = await browser.submit(shown, 'Sign in', { login: userName, password })
      return !shown.html.includes('type="password"')
    })
    return shown
  }
  const withBrowser = (who: Pick<TestPerson, 'userName' | 'password'>) =>
    login([], /^ {2}(https:\S+)$/m, async ([, address = '']) => {
      await signInOn(await browser.open(address), who)
      // What the browser would do with the redirect.
      const answer = await fetch(browser.left ?? '')
      expect(await answer.text()).to.include('You are signed in')
    })

  /** A browser without a session. */
  const newBrowser = () =>
    new Browser(issuer.origin, { certificateAuthority: readFileSync(testPlatform().certificateAuthority, 'utf8') })
  async function changeBrowser(): Promise<void> {
    await browser.close()
    browser = newBrowser()
  }

  before(async () => {
    admin = await administrator()
    boundary = (await makeBoundary()).id
    group = (await makeGroup(boundary)).name
    const realm = testPlatform().tokenUrl.replace('/protocol/openid-connect/token', '')
    const discovery = await fetch(`${realm}/.well-known/openid-configuration`)
    issuer = new URL(((await discovery.json()) as { issuer: string }).issuer)
  })
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'freehold-people-'))
    browser = newBrowser()
    person = await makePerson(admin)
    const { userId } = person
    // Five wrong guesses lock a name, also a name that the provider does not know yet.
    await until('the person is known', async () => (await call('GET', `/admin/users/${userId}`)).status === 200)
    await succeeds('setup', '--dev', process.env[PLATFORM_VARIABLE] ?? '')
    await succeeds('logout')
  })
  afterEach(async () => {
    for (const child of children) child.kill()
    await browser.close()
    await rm(home, { recursive: true, force: true })
  })
  after(async () => {
    if (boundary !== undefined) await call('DELETE', `/boundaries/${boundary}/resourcegroups/${group}`)
    await admin?.close()
  })

  async function assign(roleDefinitionName: string): Promise<void> {
    const { userId: principalId } = person
    await admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: uniqueName('person'), namespace: boundaryNamespace(boundary) },
      spec: { principalId, principalType: 'User', roleDefinitionName, scope: `/boundaries/${boundary}` },
    } as object as Parameters<KubeClient['create']>[1])
    await until('the assignment counts', async () => (await freehold('get', 'boundary', boundary)).code === 0)
  }

  it('signs in with a browser, and out at the provider as well', async () => {
    const ended = await withBrowser(person)
    expect(ended.code, ended.err).to.equal(0)
    expect(ended.err).to.include(`Signed in as ${person.userName}@example.com`)
    expect((await stat(loginPath())).mode & 0o777).to.equal(0o600)
    const who = JSON.parse((await succeeds('whoami', '-o', 'json')).out)
    expect(who).to.include({ principalId: person.userId, credential: 'stored login', issuer: issuer.href })
    const stored = await storedLogin()
    expect(stored.refreshToken).to.be.a('string')
    expect((await succeeds('logout')).err).to.equal('Signed out.\n')
    expect((await freehold('whoami')).code).to.equal(3)
    await storeLogin({ ...stored, expiresAt: 0 })
    expect(await freehold('whoami'), 'with a copy of the login').to.include({ code: 3, out: '' })
  })

  it('signs in with a device code', async () => {
    const ended = await login(['--device'], /go to\s+(https:\S+)\s+and enter the code (\S+)/, async (found) => {
      const [, address = '', code = ''] = found
      const asked = await browser.submit(await browser.open(address), 'Continue', { user_code: code })
      const signIn = await browser.submit(asked, 'Yes, connect it')
      expect((await signInOn(signIn, person)).html).to.include('Connected')
    })
    expect(ended.code, ended.err).to.equal(0)
    expect(JSON.parse((await succeeds('whoami', '-o', 'json')).out).principalId).to.equal(person.userId)
  })

  it('signs in the first person of the platform, who is Owner at the root', async () => {
    const { userName, initialPassword: password } = testPlatform().person
    const ended = await withBrowser({ userName, password })
    expect(ended.code, ended.err).to.equal(0)
    const made = JSON.parse((await succeeds('create', 'boundary', '-d', '{"displayName":"First"}', '-o', 'json')).out)
    expect(made.permissions).to.include('boundaries/delete')
    await succeeds('delete', 'boundary', made.id, '--yes')
  })

  it('renews once for three concurrent commands, and ends the login when a used one is replayed', async () => {
    expect((await withBrowser(person)).code).to.equal(0)
    const first = await storedLogin()
    // Half a minute before its end.
    await storeLogin({ ...first, obtainedAt: Date.now() - 870_000, expiresAt: Date.now() + 30_000 })
    const ended = await Promise.all([1, 2, 3].map(() => start(['whoami'])))
    expect(
      ended.map(({ code }) => code),
      ended.map(({ err }) => err).join(),
    ).to.deep.equal([0, 0, 0])
    const renewed = await storedLogin()
    expect(renewed.refreshToken).to.not.equal(first.refreshToken)
    expect(renewed.expiresAt).to.be.above(Date.now() + 300_000)
    await storeLogin({ ...renewed, expiresAt: 0 })
    await succeeds('whoami')
    const last = await storedLogin()
    await storeLogin({ ...first, expiresAt: 0 })
    expect((await freehold('whoami')).err).to.match(/invalid_grant/)
    await storeLogin({ ...last, expiresAt: 0 })
    expect(await freehold('whoami'), 'what was renewed from it').to.include({ code: 3 })
  })

  it('ends all other logins when the password changes', async () => {
    expect((await withBrowser(person)).code).to.equal(0)
    const elsewhere = await storedLogin()
    await changeBrowser()
    expect((await withBrowser(person)).code).to.equal(0)
    const own = await storedLogin()
    const password = 'Another-Passw0rd!'
    // A sign-in in the same second as the change of the password is accepted.
    const nextSecond = Date.now() + 1_000
    await until('the second is over', () => Date.now() > nextSecond)
    await succeeds('call', 'POST', '/identity/change-password', '-d', JSON.stringify({ password }))
    await storeLogin({ ...own, expiresAt: 0 })
    expect((await freehold('whoami')).code, 'the login that changed it').to.equal(0)
    await storeLogin({ ...elsewhere, expiresAt: 0 })
    const refused = await freehold('whoami')
    expect(refused.code).to.equal(3)
    expect(refused.err).to.match(/freehold login/)
    await changeBrowser()
    expect((await withBrowser({ ...person, password })).code).to.equal(0)
  })

  it('writes a kubeconfig that gets its tokens from the command line', async () => {
    expect((await withBrowser(person)).code).to.equal(0)
    await assign('Reader')
    await succeeds('use', '--boundary', boundary, '--group', group)
    const file = join(home, 'kubeconfig')
    await succeeds('kubeconfig', '--file', file)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    const text = await readFile(file, 'utf8')
    expect(text).to.not.match(/token:|client-key|eyJ/)
    const { contexts } = load(text) as { contexts: { context: { namespace: string } }[] }
    expect(contexts[0]?.context.namespace).to.equal(groupNamespace(boundary, group))
    expect(await kubectl(file, 'get', 'vectorclusters')).to.include({ code: 0 })
    expect((await kubectl(file, 'auth', 'whoami', '-o', 'json')).out).to.include(`p:${person.userId}`)
    expect((await kubectl(file, 'delete', 'vectorcluster', 'nothing')).err).to.include('Forbidden')
    // A token that is about to end is renewed on the way.
    await storeLogin({ ...(await storedLogin()), obtainedAt: 0, expiresAt: Date.now() + 1_000 })
    expect(await kubectl(file, 'get', 'vectorclusters')).to.include({ code: 0 })
    expect((await succeeds('kubeconfig', '--file', file)).err, 'again').to.include('KUBECONFIG')
    await succeeds('logout')
    const refused = await kubectl(file, 'get', 'vectorclusters')
    expect(refused.code).to.not.equal(0)
    expect(refused.err).to.include('freehold login')
    await writeFile(file, 'apiVersion: v1\nkind: Config\n')
    expect((await freehold('kubeconfig', '--file', file)).code, 'a file of another program').to.equal(5)
  })

  it('is refused by REST and kubectl once the person is disabled or deleted', async () => {
    expect((await withBrowser(person)).code).to.equal(0)
    await assign('Reader')
    const { accessToken } = await storedLogin()
    const client = await clientWithToken(accessToken)
    const ref = { namespace: SYSTEM_NAMESPACE, name: person.userId }
    const listing = () =>
      client.list(RoleAssignment.resource, { namespace: boundaryNamespace(boundary) }).then(
        () => 'listed',
        (error: Error & { reason?: string }) => error.reason,
      )
    const asking = async () => (await call('GET', '/boundaries', undefined, { token: accessToken })).status
    try {
      expect([await asking(), await listing()]).to.deep.equal([200, 'listed'])
      await admin.mergePatch(PlatformUser.resource, ref, { spec: { isEnabled: false } })
      await until('REST refuses', async () => (await asking()) === 401)
      const refused = await freehold('whoami')
      expect(refused).to.include({ code: 3, out: '' })
      expect(refused.err).to.include('invalid_grant')
      expect(await listing()).to.equal('Forbidden')
      await admin.mergePatch(PlatformUser.resource, ref, { spec: { isEnabled: true } })
      await until('REST answers again', async () => (await asking()) === 200)
      expect(await listing()).to.equal('listed')
      await admin.remove(PlatformUser.resource, ref)
      await until('REST refuses', async () => (await asking()) === 401)
      const { body } = await call('GET', '/boundaries', undefined, { token: accessToken })
      expect(body).to.include({ code: 'UNAUTHORIZED' })
      expect(body.error).to.match(/no longer exists/)
      expect(await listing()).to.equal('Forbidden')
    } finally {
      await client.close()
    }
  })

  it('completes words in bash', async () => {
    const script = (await succeeds('completion', 'bash')).out
    const asked = `${script}
COMP_WORDS=(freehold get vectorcl); COMP_CWORD=2; _freehold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(freehold kube); COMP_CWORD=1; _freehold; echo "\${COMPREPLY[*]}"`
    const { stdout } = await promisify(execFile)('bash', ['-c', asked])
    expect(stdout).to.equal('vectorclusters vectorcluster\nkubeconfig\n')
  })

  it('ends what Kubernetes itself granted to a service account when that is deleted', async () => {
    const { clientId, token } = await makeServiceAccount(admin)
    await bindEdit(admin, 'default', clientId)
    const client = await clientWithToken(token)
    const pods = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
    const listing = () =>
      client.list(pods, { namespace: 'default' }).then(
        () => 'listed',
        (error: Error & { reason?: string }) => error.reason,
      )
    try {
      await until('the role counts', async () => (await listing()) === 'listed')
      expect((await call('GET', '/boundaries', undefined, { token })).status).to.equal(200)
      await admin.remove(PlatformClient.resource, { namespace: SYSTEM_NAMESPACE, name: clientId })
      await until('kubectl is refused', async () => (await listing()) === 'Forbidden')
      expect((await call('GET', '/boundaries', undefined, { token })).status).to.equal(401)
    } finally {
      await client.close()
    }
  })

  async function kubectl(kubeconfig: string, ...words: string[]): Promise<Ended> {
    const env = { PATH: process.env.PATH ?? '', HOME: home }
    const { code, stdout, stderr } = await ranKubectl(words, { kubeconfig, env })
    return { code, out: stdout, err: stderr }
  }
})
