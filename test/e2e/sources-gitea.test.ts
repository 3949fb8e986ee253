// @inTurn proxied: runs a real Gitea beside the platform.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/progress.ts'
import { findGitHost, isGitHostBuilt } from '../../scripts/githost/find.ts'
import { startGitHost } from '../../scripts/githost/start.ts'
import { createOutgoing } from '../../src/adapters/outgoing/client.ts'
import { createSources } from '../../src/adapters/sources/client.ts'
import type { Connection } from '../../src/adapters/sources/port.ts'
import type { DeploymentSourceDto } from '../../src/api/sources/record.ts'
import { sourceSecretName } from '../../src/contracts/sources/providers.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { until } from '../make/until.ts'
import { sourceContract } from '../suites/sourceContract.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Repository = { id: string; fullName: string; cloneUrl: string }
type Token = { token: string; username: string; cloneUrl: string }
type Stored = KubeObject & { status?: { heads?: { ref: string; commit: string; repositoryName: string }[] } }

const run = promisify(execFile)

/** Its program takes ten minutes and more to build where it is not cached: `npm run faults` does. */
describe('a real Gitea as the Git host of the platform', () => {
  let own: OwnPlatform
  let folder: string
  let boundaryId: string
  let sourceId: string
  let repository: Repository
  let outgoing: ReturnType<typeof createOutgoing>

  const rest = <Body>(method: string, path: string, body?: object) => callOwn<Body>(own, method, path, body)
  const sources = () => `/boundaries/${boundaryId}/sources`
  const heads = async () => {
    const ref = { namespace: boundaryNamespace(boundaryId), name: sourceId }
    return (await own.admin.get<Stored>(DeploymentSource.resource, ref)).status?.heads ?? []
  }
  const git = (...args: string[]) => {
    const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_SSL_CAINFO: join(folder, 'ca.crt') }
    return run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder, env })
  }

  async function startGitea() {
    const program = await findGitHost(silentProgress, new AbortController().signal)
    if (program === undefined) throw new Error('Gitea cannot be built here.')
    const { controlPlane, ports } = own
    const address = '127.0.0.1'
    const certificate = await controlPlane.issueServingCertificate([address])
    const place = { folder: controlPlane.folder, address, port: ports.git, certificate }
    return startGitHost(program, place, controlPlane.startProcess)
  }

  before(async function () {
    const isFull = TEST_CONFIG.sized(0, 1) === 1
    if (!isFull && !(await isGitHostBuilt())) {
      process.stderr.write(
        'Skipped: Gitea is not built on this machine; "npm run up -- --git" or "npm run faults" does.\n',
      )
      this.skip()
    }
    folder = await mkdtemp(join(tmpdir(), 'freehold-gitea-'))
    own = await borrowPlatform('proxied')
    const { url, tokenFile } = await startGitea()
    await own.startOperator({ PLATFORM_CIRCUIT_URL: url, PLATFORM_CIRCUIT_TOKEN_FILE: tokenFile })
    await writeFile(join(folder, 'ca.crt'), own.controlPlane.servingCaPem)
    outgoing = createOutgoing({
      allowedHosts: [`127.0.0.1:${own.ports.git}`],
      certificateAuthority: () => own.controlPlane.servingCaPem,
    })
    const boundary = await rest<{ id: string }>('POST', '/boundaries', { displayName: 'Shop' })
    expect(boundary.status, boundary.text).to.equal(201)
    boundaryId = boundary.body.id
    const begun = await rest<{ deploymentSourceId: string }>('POST', `${sources()}/circuit/create`, {
      displayName: 'Own',
    })
    expect(begun.status, begun.text).to.equal(201)
    sourceId = begun.body.deploymentSourceId
    await until('the source has its account', async () => {
      const { body } = await rest<{ items: DeploymentSourceDto[] }>('GET', sources())
      return body.items[0]?.status === 'Ready'
    })
    const made = await rest<Repository>('POST', `${sources()}/circuit/${sourceId}/circuit/repositories`, {
      name: 'site',
    })
    expect(made.status).to.equal(201)
    repository = made.body
  })
  after(async () => {
    await outgoing?.close()
    await giveBack(own)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  it('delivers a push and a tag, which are verified and recorded', async () => {
    const at = `${sources()}/circuit/installations/${sourceId}`
    const hook = await rest<{ created: boolean }>('POST', `${at}/repositories/${repository.id}/webhooks/ensure`)
    expect([hook.status, hook.body.created]).to.deep.equal([200, true])
    const { body: token } = await rest<Token>('POST', `${at}/token/${repository.id}`)
    const url = new URL(token.cloneUrl)
    Object.assign(url, { username: token.username, password: token.token })
    await git('clone', url.href, 'work')
    await writeFile(join(folder, 'work', 'page.html'), 'hello')
    await git('-C', 'work', 'add', '.')
    await git('-C', 'work', 'commit', '-m', 'a page')
    const commit = (await git('-C', 'work', 'rev-parse', 'HEAD')).stdout.trim()
    expect(await heads()).to.deep.equal([])
    await git('-C', 'work', 'push', 'origin', 'HEAD:main')
    const recorded = await until('the push is recorded', async () => (await heads())[0])
    expect(recorded).to.include({ ref: 'refs/heads/main', commit, repositoryName: repository.fullName })
    await git('-C', 'work', 'tag', 'v1')
    await git('-C', 'work', 'push', 'origin', 'v1')
    await until('the tag is recorded', async () => (await heads()).some(({ ref }) => ref === 'refs/tags/v1'))
  })

  it('delivers the deletion of a branch, whose head is forgotten', async () => {
    const isThere = async () => (await heads()).some(({ ref }) => ref === 'refs/heads/passing')
    await git('-C', 'work', 'push', 'origin', 'HEAD:passing')
    await until('the branch is recorded', isThere)
    await git('-C', 'work', 'push', 'origin', ':passing')
    await until('the branch is forgotten', async () => !(await isThere()))
  })

  it('hides the repositories of one source from another', async () => {
    const begun = await rest<{ deploymentSourceId: string }>('POST', `${sources()}/circuit/create`, {
      displayName: 'Two',
    })
    const id = begun.body.deploymentSourceId
    await until('the second source has its account', async () => {
      const { status } = await rest('GET', `${sources()}/circuit/${id}/repositories`)
      return status === 200
    })
    const { body } = await rest<Repository[]>('GET', `${sources()}/circuit/${id}/repositories`)
    expect(body).to.deep.equal([])
    const stolen = await rest<{ code: string }>(
      'POST',
      `${sources()}/circuit/installations/${id}/token/${repository.id}`,
    )
    expect([stolen.status, stolen.body.code]).to.deep.equal([404, 'source-unknown'])
    expect((await rest('DELETE', `${sources()}/circuit/${id}`)).status).to.equal(204)
  })

  sourceContract('Gitea', {
    hasWebhooks: true,
    count: 1,
    async open() {
      const ref = { namespace: boundaryNamespace(boundaryId), name: sourceSecretName(sourceId) }
      const { data } = await own.admin.get<KubeObject & { data: Record<string, string> }>(secret, ref)
      const token = Buffer.from(data.token ?? '', 'base64').toString()
      const baseUrl = `https://127.0.0.1:${own.ports.git}`
      const connection: Connection = { provider: 'Gitea', baseUrl, credentials: { token } }
      const nobody = { ...connection, baseUrl: `${baseUrl}/nothing` }
      const breakWebhook = async () => {
        const hooks = `${baseUrl}/api/v1/repos/${repository.fullName}/hooks`
        const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
        const all = (await (await outgoing.fetch(hooks, { headers })).json()) as { id: number }[]
        for (const { id } of all)
          await outgoing.fetch(`${hooks}/${id}`, { method: 'PATCH', headers, body: JSON.stringify({ active: false }) })
      }
      const port = createSources(outgoing.fetch, () => Date.now())
      return { port, connection, nobody, repositoryId: repository.id, breakWebhook }
    },
  })
})
