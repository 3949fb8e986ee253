import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { reasonOf, sourceContract } from '../../../test/suites/sourceContract.ts'
import { BITBUCKET_ID, PlayedBitbucket } from '../../../test/worlds/providers/bitbucket.ts'
import { serveGit } from '../../../test/worlds/providers/gitBackend.ts'
import { PlayedGitea } from '../../../test/worlds/providers/gitea.ts'
import { INSTALLATION, PlayedGitHub } from '../../../test/worlds/providers/github.ts'
import { PlayedGitLab } from '../../../test/worlds/providers/gitlab.ts'
import { PlayedRegistry } from '../../../test/worlds/providers/registry.ts'
import { fetchOf } from '../../../test/worlds/providers/standIn.ts'
import { OutgoingError, type OutgoingFetch } from '../outgoing/port.ts'
import { giteaCircuit } from './circuit.ts'
import { createSources } from './client.ts'
import { FakeSources } from './fake.ts'
import type { Connection } from './port.ts'

const now = () => Date.now()
const away = () => Promise.reject(new OutgoingError('Unreachable', 'It does not answer.'))

function played(connection: Connection, fetch: OutgoingFetch) {
  const port = createSources((url, options) => (url.includes('nobody.test') ? away() : fetch(url, options)), now)
  return { port, connection, nobody: { ...connection, baseUrl: 'https://nobody.test' } }
}

sourceContract('GitHub (stand-in)', {
  hasWebhooks: true,
  count: 130,
  async open() {
    const gitHub = new PlayedGitHub()
    const credentials = { 'app-id': '77', 'private-key': gitHub.pem }
    const baseUrl = 'https://stand.in/github'
    const connection = { provider: 'GitHub', baseUrl, installationId: INSTALLATION, credentials } as const
    const breakWebhook = () => void Object.assign(gitHub.hook, { secret: 'another' })
    return { ...played(connection, fetchOf({ github: gitHub })), repositoryId: '1', breakWebhook }
  },
})

sourceContract('GitLab (stand-in)', {
  hasWebhooks: true,
  count: 120,
  async open() {
    const gitLab = new PlayedGitLab('glpat')
    const credentials = { token: 'glpat' }
    const connection = { provider: 'GitLab', baseUrl: 'https://stand.in/gitlab', credentials } as const
    const breakWebhook = () => {
      for (const hook of gitLab.hooks) hook.alert_status = 'disabled'
    }
    return { ...played(connection, fetchOf({ gitlab: gitLab })), repositoryId: '1', breakWebhook }
  },
})

sourceContract('Bitbucket (stand-in)', {
  hasWebhooks: true,
  count: 60,
  async open() {
    const bitbucket = new PlayedBitbucket('bb')
    const baseUrl = 'https://stand.in/bitbucket'
    const connection = { provider: 'Bitbucket', baseUrl, organization: 'acme', credentials: { token: 'bb' } } as const
    const breakWebhook = () => {
      for (const hook of bitbucket.hooks) hook.active = false
    }
    return { ...played(connection, fetchOf({ bitbucket })), repositoryId: BITBUCKET_ID, breakWebhook }
  },
})

for (const [title, pageMost] of [
  ['Gitea', 50],
  ['Gitea with pages of 30', 30],
] as const)
  sourceContract(`${title} (stand-in)`, {
    hasWebhooks: true,
    count: 130,
    async open() {
      const gitea = new PlayedGitea()
      const token = gitea.account('ada', ['site', ...Array.from({ length: 129 }, (_, at) => `repository-${at}`)])
      gitea.pageMost = pageMost
      const connection = { provider: 'Gitea', baseUrl: 'https://stand.in/gitea', credentials: { token } } as const
      return { ...played(connection, fetchOf({ gitea })), repositoryId: '1' }
    },
  })

sourceContract('FakeSources', {
  hasWebhooks: true,
  count: 1,
  async open() {
    const port = new FakeSources()
    const connection = { provider: 'Gitea', baseUrl: 'https://a.test', credentials: { token: 'good-token' } } as const
    const nobody = { ...connection, baseUrl: 'https://nobody.test' }
    return { port, connection, nobody, repositoryId: '1' }
  },
})

describe('Git over HTTPS', () => {
  let folder: string
  let server: { url: string; fetch: OutgoingFetch; server: Server; close(): Promise<void> }
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-git-'))
    const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: folder })
    await git('init', '--bare', '--initial-branch=trunk', 'shop.git')
    await git('clone', 'shop.git', 'work')
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
    await git('-C', 'work', ...identity, 'commit', '--allow-empty', '-m', 'first')
    await git('-C', 'work', 'push', 'origin', 'HEAD:trunk')
    server = await serveGit(folder, { username: 'git', password: 'good' })
  })
  after(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  sourceContract('git http-backend', {
    hasWebhooks: false,
    count: 1,
    async open() {
      const connection = { provider: 'Git', baseUrl: `${server.url}/shop.git`, credentials: { token: 'good' } } as const
      const port = createSources(server.fetch, now)
      const nobody = { ...connection, baseUrl: `${server.url}/nothing.git` }
      return { port, connection, nobody, repositoryId: 'repository' }
    },
  })

  it('returns the branch of HEAD, among 5,000 other refs', async () => {
    const others = Array.from({ length: 5_000 }, (_, at) => `create refs/pull/${at}/head trunk\n`).join('')
    execFileSync('git', ['update-ref', '--stdin'], { cwd: join(folder, 'shop.git'), input: others })
    const port = createSources(server.fetch, now)
    const credentials = { token: 'good' }
    const [found] = await port.repositories({ provider: 'Git', baseUrl: `${server.url}/shop.git`, credentials })
    expect([found?.defaultBranch, found?.name]).to.deep.equal(['trunk', 'shop'])
  })
})

describe('GitHub installation tokens', () => {
  it('are requested for one repository and for reading only', async () => {
    const gitHub = new PlayedGitHub()
    const port = createSources(fetchOf({ github: gitHub }), now)
    const credentials = { 'app-id': '77', 'private-key': gitHub.pem }
    const baseUrl = 'https://stand.in/github'
    await port.token({ provider: 'GitHub', baseUrl, installationId: INSTALLATION, credentials }, '2')
    expect(gitHub.asked).to.deep.equal({ repository_ids: [2], permissions: { contents: 'read' } })
  })
})

describe('createSources, given an error status', () => {
  const credentials = { token: 'glpat' }
  const gitLab = { provider: 'GitLab', baseUrl: 'https://stand.in/gitlab', credentials } as const
  const answering =
    (status: number, headers: Record<string, string> = {}): OutgoingFetch =>
    async () =>
      new Response(null, { status, headers })
  const cases: [title: string, fetch: OutgoingFetch, reason: string][] = [
    ['reports CredentialRejected for 403', answering(403), 'CredentialRejected'],
    [
      'reports Unreachable for 403 with an exhausted rate limit',
      answering(403, { 'x-ratelimit-remaining': '0' }),
      'Unreachable',
    ],
    ['reports Unreachable for 403 with retry-after', answering(403, { 'retry-after': '60' }), 'Unreachable'],
    ['reports Unreachable for 429', answering(429), 'Unreachable'],
    ['reports Unreachable for 422', answering(422), 'Unreachable'],
  ]
  for (const [title, fetch, reason] of cases)
    it(title, async () => {
      const port = createSources(fetch, now)
      expect(await reasonOf(port.check(gitLab))).to.equal(reason)
      const hook = { url: 'https://platform.example.com/webhooks', secret: 's'.repeat(32) }
      expect(await reasonOf(port.ensureWebhook(gitLab, '1', hook))).to.equal(reason)
    })

  it('reports NotFound for a repository outside of the installation', async () => {
    const gitHub = new PlayedGitHub()
    const own = { 'app-id': '77', 'private-key': gitHub.pem }
    const connection = { provider: 'GitHub', baseUrl: 'https://stand.in/github', installationId: INSTALLATION } as const
    const port = createSources(fetchOf({ github: gitHub }), now)
    expect(await reasonOf(port.token({ ...connection, credentials: own }, '9999'))).to.equal('NotFound')
  })

  it('reports NameTaken for the name of an existing repository', async () => {
    const gitea = new PlayedGitea()
    const token = gitea.account('ada')
    const connection = { provider: 'Gitea', baseUrl: 'https://stand.in/gitea', credentials: { token } } as const
    const wanted = { name: 'site', description: '', isPrivate: true, defaultBranch: 'main', initialize: true }
    const made = createSources(fetchOf({ gitea }), now).createRepository(connection, wanted)
    expect(await reasonOf(made)).to.equal('NameTaken')
  })
})

describe("tokens of the platform's Gitea", () => {
  const ACCOUNT = 'c-0123456789abcdef01234567'
  const baseUrl = 'https://stand.in/gitea'
  const open = () => {
    const gitea = new PlayedGitea()
    const fetch = fetchOf({ gitea })
    const circuit = giteaCircuit(fetch, baseUrl, async () => gitea.adminToken)
    const check = (token: string) =>
      reasonOf(
        createSources(fetch, now, undefined, baseUrl).check({ provider: 'Circuit', baseUrl, credentials: { token } }),
      )
    return { gitea, fetch, circuit, check }
  }

  it('are replaced: the last one stays valid, and earlier ones end', async () => {
    const { circuit, check } = open()
    const { token: first } = await circuit.openAccount(ACCOUNT)
    const { token: second } = await circuit.openAccount(ACCOUNT, first)
    expect([await check(first), await check(second)]).to.deep.equal(['none', 'none'])
    const { token: third } = await circuit.openAccount(ACCOUNT, second)
    expect([await check(first), await check(second), await check(third)]).to.deep.equal([
      'CredentialRejected',
      'none',
      'none',
    ])
  })

  it('end if nobody has stored them', async () => {
    const { circuit, check } = open()
    const { token: lost } = await circuit.openAccount(ACCOUNT)
    const { token } = await circuit.openAccount(ACCOUNT)
    expect([await check(lost), await check(token)]).to.deep.equal(['CredentialRejected', 'none'])
  })

  it('say when they end at the latest', async () => {
    const { gitea, fetch } = open()
    const credentials = { token: gitea.account(ACCOUNT), 'token-issued-at': '2026-01-01T00:00:00Z' }
    const port = createSources(fetch, now, undefined, baseUrl)
    const { expiresAt } = await port.token({ provider: 'Circuit', baseUrl, credentials }, '1')
    expect(expiresAt).to.equal('2026-01-02T00:00:00Z')
    expect((await port.token({ provider: 'Gitea', baseUrl, credentials }, '1')).expiresAt).to.equal(null)
  })
})

describe('GitLab deploy tokens', () => {
  const credentials = { token: 'glpat' }
  const connection = { provider: 'GitLab', baseUrl: 'https://stand.in/gitlab', credentials } as const
  const at = (seconds: number) => new Date(now() + seconds * 1_000).toISOString()
  const keeping = (...tokens: [name: string, seconds: number][]) => {
    const gitLab = new PlayedGitLab('glpat')
    gitLab.deployTokens = tokens.map(([name, seconds], index) => ({ id: index + 1, name, expires_at: at(seconds) }))
    return { gitLab, port: createSources(fetchOf({ gitlab: gitLab }), now) }
  }
  const namesOf = ({ deployTokens }: PlayedGitLab) => deployTokens.map(({ id, name }) => `${id} ${name}`)

  it('are deleted after they expire, if they are ours, when the next one is created', async () => {
    const { gitLab, port } = keeping(['freehold', -60], ['freehold', 60], ['somebody', -60], ['freehold', -86_400])
    await port.token(connection, '1')
    expect(namesOf(gitLab)).to.deep.equal(['2 freehold', '3 somebody', '5 freehold'])
  })

  it('are deleted 20 at a time', async () => {
    const { gitLab, port } = keeping(...Array.from({ length: 30 }, (): [string, number] => ['freehold', -60]))
    await port.token(connection, '1')
    expect(gitLab.deployTokens).to.have.length(11)
  })

  it('are created even if GitLab does not list the earlier ones', async () => {
    const { gitLab, port } = keeping(['freehold', -60])
    gitLab.tellsTokens = false
    expect((await port.token(connection, '1')).token).to.equal('gldt-1')
  })
})

describe('GitHub with a clock 55 seconds behind', () => {
  it("accepts the platform's tokens", async () => {
    const gitHub = new PlayedGitHub()
    gitHub.now = () => new Date(now() - 55_000)
    const port = createSources(fetchOf({ github: gitHub }), now)
    const credentials = { 'app-id': '77', 'private-key': gitHub.pem }
    const connection = { provider: 'GitHub', baseUrl: 'https://stand.in/github', installationId: INSTALLATION } as const
    expect((await port.check({ ...connection, credentials })).accountName).to.equal('acme')
  })
})

describe('a GitHub installation with 1,120 repositories', () => {
  it('lists 1,000 of them and finds any by its name', async () => {
    const gitHub = new PlayedGitHub(1_120)
    const port = createSources(fetchOf({ github: gitHub }), now)
    const credentials = { 'app-id': '77', 'private-key': gitHub.pem }
    const connection = { provider: 'GitHub', baseUrl: 'https://stand.in/github', installationId: INSTALLATION } as const
    const all = await port.repositories({ ...connection, credentials })
    expect(all).to.have.length(1000)
    const last = await port.repositories({ ...connection, credentials }, '-1120')
    expect(last.map(({ id }) => id)).to.deep.equal(['1120'])
  })
})

describe('createSources, connected to a registry', () => {
  const registry = new PlayedRegistry('ada', 'good', 'https://stand.in/registry')
  const port = createSources(fetchOf({ registry }), now)
  const connection = (password: string): Connection => {
    return { provider: 'Registry', baseUrl: 'https://stand.in/registry', username: 'ada', credentials: { password } }
  }
  const cases: [string, string, { repository?: string; tag?: string }, object][] = [
    ['accepts valid credentials', 'good', {}, { isReachable: true, isAuthenticated: true, canPull: true }],
    [
      'returns the digest of an image',
      'good',
      { repository: 'team/app' },
      { canPull: true, digest: `sha256:${'a'.repeat(64)}` },
    ],
    [
      'reports a missing tag',
      'good',
      { repository: 'team/app', tag: 'no' },
      { isAuthenticated: true, canPull: false, digest: null },
    ],
    ['rejects invalid credentials', 'wrong', {}, { isReachable: true, isAuthenticated: false, canPull: false }],
  ]
  for (const [title, password, image, wanted] of cases) {
    it(title, async () => {
      expect(await port.verifyRegistry(connection(password), image)).to.include(wanted)
    })
  }

  for (const [title, path] of [
    ['at sign-in', '/v2/'],
    ['for an image', '/v2/team/app/manifests/latest'],
  ] as const)
    it(`reports status 429 ${title}`, async () => {
      const fetch = fetchOf({ registry })
      const busy: OutgoingFetch = async (url, options) =>
        url.endsWith(path) && options?.headers?.authorization !== undefined
          ? new Response(null, { status: 429 })
          : fetch(url, options)
      const { message } = await createSources(busy, now).verifyRegistry(connection('good'), { repository: 'team/app' })
      expect(message).to.match(/status 429/)
      const reason = await reasonOf(createSources(busy, now).check(connection('good')))
      expect(reason).to.equal(path === '/v2/' ? 'Unreachable' : 'none')
    })

  it('reports an address without a registry as unreachable', async () => {
    const none = await port.verifyRegistry({ ...connection('good'), baseUrl: 'https://stand.in/nothing' }, {})
    expect(none).to.include({ isReachable: false, canPull: false })
    expect(await reasonOf(createSources(away, now).check(connection('good')))).to.equal('Unreachable')
  })

  it('reports NotAllowed for an address that may not be called', async () => {
    const refusing = () => Promise.reject(new OutgoingError('NotAllowed', 'no'))
    expect(await reasonOf(createSources(refusing, now).verifyRegistry(connection('good'), {}))).to.equal('NotAllowed')
  })
})
