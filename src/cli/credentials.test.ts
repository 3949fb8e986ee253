import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { chooseCredential, type TokenIssuer, type TokenSourceParts, tokenSource } from './credentials.ts'
import { clientPathsFor } from './files.ts'
import { withLock } from './lock.ts'
import { requireSafeUrl } from './settings.ts'
import { loginStore, needsRefresh, type StoredLogin } from './storedLogin.ts'

const NOW = 1_000_000_000
const settings = { issuer: 'https://id.test/realms/r', clientId: 'freehold-cli' }
const loginOf = (accessToken: string, seconds: number): StoredLogin => ({
  ...settings,
  accessToken,
  refreshToken: `refresh-${accessToken}`,
  obtainedAt: NOW,
  expiresAt: NOW + seconds * 1000,
})
const failureOf = async (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error)

describe('chooseCredential', () => {
  const [id, secret] = [{ PLATFORM_CLIENT_ID: 'id' }, { PLATFORM_CLIENT_SECRET: 's' }]
  const cases: [string, Record<string, string>, string][] = [
    [
      'chooses PLATFORM_TOKEN before PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET',
      { PLATFORM_TOKEN: 't', ...id, ...secret },
      'token',
    ],
    ['chooses the client before the stored login', { ...id, ...secret }, 'client'],
    ['chooses the stored login if no variable is set', {}, 'login'],
    ['treats an empty variable as unset', { PLATFORM_TOKEN: '', PLATFORM_CLIENT_ID: '' }, 'login'],
    ['chooses PLATFORM_TOKEN although PLATFORM_CLIENT_SECRET is missing', { PLATFORM_TOKEN: 't', ...id }, 'token'],
    ['rejects a PLATFORM_TOKEN with a line break', { PLATFORM_TOKEN: 'a\nb' }, 'PLATFORM_TOKEN contains characters'],
    ['rejects PLATFORM_CLIENT_ID without PLATFORM_CLIENT_SECRET', id, 'PLATFORM_CLIENT_SECRET is missing'],
    ['rejects PLATFORM_CLIENT_SECRET without PLATFORM_CLIENT_ID', secret, 'PLATFORM_CLIENT_ID is missing'],
  ]
  for (const [what, environment, expected] of cases) {
    it(what, () => {
      if (expected.includes(' ')) expect(() => chooseCredential(environment)).to.throw(expected)
      else expect(chooseCredential(environment).kind).to.equal(expected)
    })
  }
})

describe('the stored login', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-login-'))
    path = join(folder, 'state', 'login.json')
  })
  afterEach(() => rm(folder, { recursive: true }))

  const ages: [string, number, number, boolean][] = [
    ['needs no refresh when it is new', 900, 0, false],
    ['needs a refresh 59 s before it expires, with a lifetime of 900 s', 900, 841, true],
    ['needs no refresh 120 s before it expires, with a lifetime of 900 s', 900, 780, false],
    ['needs no refresh 20 s before it expires, with a lifetime of 60 s', 60, 40, false],
    ['needs a refresh 11 s before it expires, with a lifetime of 60 s', 60, 49, true],
  ]
  for (const [what, life, age, expected] of ages) {
    it(what, () => expect(needsRefresh(loginOf('a', life), NOW + age * 1000)).to.equal(expected))
  }

  it('is written with mode 600 in a folder with mode 700, read back and removed', async () => {
    const store = loginStore(path)
    await store.write(loginOf('a', 900))
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    expect((await stat(join(folder, 'state'))).mode & 0o777).to.equal(0o700)
    expect(await store.read()).to.deep.equal(loginOf('a', 900))
    await store.remove()
    expect(await store.read()).to.equal(undefined)
  })

  it('is rejected if others can access the file or if the path is a symbolic link', async () => {
    const store = loginStore(path)
    await store.write(loginOf('a', 900))
    for (const mode of [0o640, 0o604, 0o622]) {
      await chmod(path, mode)
      expect(await failureOf(store.read())).to.include({ exitCode: 5 })
    }
    await chmod(path, 0o600)
    const link = join(folder, 'link')
    await symlink(path, link)
    expect(await failureOf(loginStore(link).read())).to.include({ exitCode: 5 })
  })

  it('is rejected if the file is damaged, without showing its content', async () => {
    const store = loginStore(path)
    await store.write(loginOf('a', 900))
    await writeFile(path, '{"accessToken":"secret-thing"', { mode: 0o600 })
    const failure = await failureOf(store.read())
    expect(failure).to.include({ exitCode: 5 })
    expect((failure as Error).message).to.not.include('secret-thing')
  })

  /** Several token sources over one file, and the refresh tokens that the issuer received. */
  function sources(count: number, refresh?: TokenIssuer['refresh']) {
    const seen: string[] = []
    const issuer: TokenIssuer = {
      clientToken: () => Promise.reject(new Error('clientToken is never called')),
      refresh:
        refresh ??
        (async (login) => {
          seen.push(login.refreshToken ?? '')
          // The response comes later, so that all sources wait for the lock.
          await new Promise((done) => setImmediate(done))
          return loginOf(`renewed-${seen.length}`, 900)
        }),
    }
    const parts = (): TokenSourceParts => {
      return { credential: { kind: 'login' }, settings, issuer, store: loginStore(path), now: () => NOW }
    }
    return { seen, of: Array.from({ length: count }, () => tokenSource(parts())) }
  }

  it('is refreshed once by five concurrent token sources', async () => {
    await loginStore(path).write(loginOf('old', 0))
    const { seen, of } = sources(5)
    expect(new Set(await Promise.all(of.map((token) => token())))).to.deep.equal(new Set(['renewed-1']))
    expect(seen).to.deep.equal(['refresh-old'])
    expect(JSON.parse(await readFile(path, 'utf8')).accessToken).to.equal('renewed-1')
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('is refreshed if the platform rejected its token before it expired', async () => {
    await loginStore(path).write(loginOf('old', 900))
    const { seen, of } = sources(1)
    const token = of[0] ?? expect.fail()
    expect(await token()).to.equal('old')
    expect(await token('old')).to.equal('renewed-1')
    expect(seen).to.have.lengthOf(1)
  })

  it('releases the lock if the refresh fails', async () => {
    await loginStore(path).write(loginOf('old', 0))
    const { of } = sources(2, () => Promise.reject(new Error('not now')))
    for (const token of of) expect(await failureOf(token())).to.have.property('message', 'not now')
  })

  it('is not refreshed if another issuer issued it', async () => {
    await loginStore(path).write({ ...loginOf('old', 0), issuer: 'https://other.test' })
    const { seen, of } = sources(1)
    expect(await failureOf((of[0] ?? expect.fail())())).to.include({ exitCode: 3 })
    expect(seen).to.deep.equal([])
  })

  it('has a lock that fails after its timeout while it is held, and is free afterwards', async () => {
    const lock = join(folder, 'lock')
    await withLock(lock, 1000, async () => {
      expect(await failureOf(withLock(lock, 50, async () => 1))).to.include({ exitCode: 5 })
    })
    expect(await withLock(lock, 50, async () => 1)).to.equal(1)
  })
})

describe('clientPathsFor and requireSafeUrl', () => {
  it('follow the XDG variables that are absolute paths', () => {
    const environment = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: 'relative' }
    expect(clientPathsFor(environment, '/home/x')).to.deep.equal({
      settings: '/c/freehold/config.json',
      login: '/home/x/.local/state/freehold/login.json',
    })
  })

  const urls: [string, string | RegExp][] = [
    ['https://a.test/base/', 'https://a.test/base'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['http://a.test', /must be https/],
    ['http://127.0.0.1.evil.test', /must be https/],
    ['https://user:word@a.test', /user name or password/],
    ['ftp://a.test', /http\(s\) address/],
    ['a.test', /http\(s\) address/],
  ]
  for (const [text, expected] of urls) {
    it(`${typeof expected === 'string' ? 'accept' : 'reject'} ${text}`, () => {
      if (typeof expected === 'string') expect(requireSafeUrl('It', text)).to.equal(expected)
      else expect(() => requireSafeUrl('It', text)).to.throw(expected)
    })
  }
})
