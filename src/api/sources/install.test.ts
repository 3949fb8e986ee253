import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeCircuit, FakeSources } from '../../adapters/sources/fake.ts'
import { newLinkToken } from '../../core/linkToken.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { secretData } from '../../core/secretData.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const SOURCE = '55555555-5555-4555-8555-555555555555'
const HOME = 'https://platform.example.com'
const CONSOLE = `${HOME}/console`

/** GitHub, which counts its requests. */
class CountedGitHub extends FakeSources {
  requests = 0
  /** Responses wait for this. */
  held: Promise<void> | undefined
  override async makeApp(...given: Parameters<FakeSources['makeApp']>) {
    this.requests += 1
    await this.held
    return super.makeApp(...given)
  }
  override async check(...given: Parameters<FakeSources['check']>) {
    this.requests += 1
    await this.held
    return super.check(...given)
  }
}

describe('state of a GitHub App installation', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let gitHub: CountedGitHub
  let state: string
  beforeEach(async () => {
    gitHub = new CountedGitHub()
    const kept = secretData({ 'private-key': 'good-token', 'app-id': '7', 'webhook-secret': 'x'.repeat(32) })
    const secrets = {
      read: async () => kept,
      put: async (_ref: unknown, data: object) => void Object.assign(kept, data),
    }
    const none = {} as never
    const own = { port: gitHub, circuit: new FakeCircuit(), secrets, pullSecrets: none, journal: none }
    server = await startShop({}, { sources: { ...own, allowedHosts: [], baseUrl: HOME } })
  })
  afterEach(() => server.stop())

  function begin(step: 'Register' | 'Install') {
    const { token, hash: stateHash } = newLinkToken([B, SOURCE])
    const install = { step, stateHash, expiresAt: '2999-01-01T00:00:00Z', returnUrl: CONSOLE }
    const spec = { displayName: 'Hub', provider: 'GitHub', baseUrl: 'https://github.com', install }
    server.put(DeploymentSource, SOURCE, spec, boundaryNamespace(B))
    state = token
  }
  async function redirect(to: 'validate' | 'finalize', query: Record<string, string>) {
    const answer = await request(server.app)
      .get(`/boundaries/${B}/sources/github/${to}`)
      .query({ state, ...query })
    const result = URL.parse(String(answer.headers.location))?.searchParams.get('result')
    return `${answer.status} ${result ?? answer.body.code}`
  }

  const [VALIDATE, FINALIZE] = [{ code: 'good-code' }, { installation_id: '1' }]
  const USED = '400 state-invalid'

  it('is valid for one step, and then for the next', async () => {
    begin('Register')
    expect(await redirect('validate', VALIDATE)).to.equal('302 ok')
    begin('Install')
    expect(await redirect('finalize', FINALIZE)).to.equal('302 ok')
    expect([await redirect('finalize', FINALIZE), gitHub.requests]).to.deep.equal([USED, 2])
  })

  const failures: [
    what: string,
    to: 'validate' | 'finalize',
    query: Record<string, string>,
    said: string,
    asked: number,
  ][] = [
    ['an exchange that GitHub refuses', 'validate', { code: 'bad-code' }, '302 failed', 1],
    ['a refusal by the user', 'validate', { error: 'access_denied' }, '302 failed', 0],
    ['a redirect without a code', 'validate', {}, '302 failed', 0],
    ['an installation of another App', 'finalize', { installation_id: '2' }, USED, 1],
    ['a redirect with another app_id', 'finalize', { ...FINALIZE, app_id: '8' }, USED, 0],
  ]
  for (const [what, to, query, expected, requests] of failures) {
    it(`expires after ${what}`, async () => {
      begin(to === 'validate' ? 'Register' : 'Install')
      expect([await redirect(to, query), gitHub.requests]).to.deep.equal([expected, requests])
      expect([await redirect(to, to === 'validate' ? VALIDATE : FINALIZE), gitHub.requests]).to.deep.equal([
        USED,
        requests,
      ])
    })
  }

  for (const to of ['validate', 'finalize'] as const) {
    it(`returns 404 for a redirect to ${to} of a type that does not exist`, async () => {
      begin(to === 'validate' ? 'Register' : 'Install')
      const { status, body } = await request(server.app)
        .get(`/boundaries/${B}/sources/svn/${to}`)
        .query({ state, ...VALIDATE, ...FINALIZE })
      expect([status, body.code]).to.deep.equal([404, 'source-unknown'])
    })
  }

  it('expires if GitHub does not answer', async () => {
    begin('Install')
    gitHub.isAway = true
    expect(await redirect('finalize', FINALIZE)).to.equal('502 upstream-failed')
    gitHub.isAway = false
    expect([await redirect('finalize', FINALIZE), gitHub.requests]).to.deep.equal([USED, 1])
  })

  for (const [to, step, query] of [
    ['validate', 'Register', VALIDATE],
    ['finalize', 'Install', FINALIZE],
  ] as const) {
    it(`accepts one of 5 concurrent redirects, with one request to GitHub: ${to}`, async () => {
      begin(step)
      const { promise, resolve } = Promise.withResolvers<void>()
      gitHub.held = promise
      const answered: string[] = []
      const browsers = Array.from({ length: 5 }, async () => void answered.push(await redirect(to, query)))
      await until('each is refused or at GitHub', async () => answered.length + gitHub.requests === 5)
      resolve()
      await Promise.all(browsers)
      expect(answered.toSorted()).to.deep.equal(['302 ok', USED, USED, USED, USED])
      expect(gitHub.requests).to.equal(1)
    })
  }

  it('stays valid after a redirect to the wrong step', async () => {
    begin('Register')
    expect(await redirect('finalize', FINALIZE)).to.equal(USED)
    expect(await redirect('validate', VALIDATE)).to.equal('302 ok')
  })
})
