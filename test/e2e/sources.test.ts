import { rm, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { DeploymentSourceDto } from '../../src/api/sources/record.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { KubeError } from '../../src/kube/errors.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { PlayedBitbucket } from '../worlds/providers/bitbucket.ts'
import { PlayedGitea } from '../worlds/providers/gitea.ts'
import { GITHUB_CODE, INSTALLATION, NEXT_GITHUB_CODE, PlayedGitHub } from '../worlds/providers/github.ts'
import { PlayedGitLab } from '../worlds/providers/gitlab.ts'
import { PlayedRegistry } from '../worlds/providers/registry.ts'
import { serveToPlatform } from '../worlds/providers/standIn.ts'
import { administrator, clientWithToken, testPlatform } from '../worlds/tenant.ts'

type Begun = {
  deploymentSourceId: string
  status: string
  installUrl: string | null
  state: string | null
  webhookUrl: string
  webhookSecret: string
  expiresAt: string | null
}

/** GitHub, GitLab, Bitbucket, a registry and a Git host are simulated according to their public documentation. */
describe('deployment sources', () => {
  let close: (() => Promise<void>) | undefined
  let admin: KubeClient
  let boundaryId: string
  let path: string
  let host: string
  const planted = uniqueName('planted-credential')
  const [gitHub, gitLab, bitbucket] = [new PlayedGitHub(3), new PlayedGitLab(planted, 3), new PlayedBitbucket('bb', 3)]
  const gitea = new PlayedGitea()
  let registry: PlayedRegistry
  const base = (name: string) => `https://${host}/${name}`
  const begin = async (type: string, body: object) => {
    const answer = await expectCall<Begun>(201, 'POST', `${path}/${type}/create`, {
      displayName: uniqueName(type),
      ...body,
    })
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    return answer
  }
  const create = async (type: string, body: object) => (await begin(type, body)).body
  const ready = (id: string) =>
    until(`source ${id} is ready`, async () => {
      const found = (await itemsOf<DeploymentSourceDto>(path)).find((one) => one.id === id)
      return found?.status === 'Ready' && found
    })
  const stored = (id: string) =>
    admin.get<KubeObject>(DeploymentSource.resource, { namespace: boundaryNamespace(boundaryId), name: id })

  before(async () => {
    const { git } = testPlatform()
    host = git.host
    registry = new PlayedRegistry('ada', planted, base('registry'))
    const all = { github: gitHub, gitlab: gitLab, bitbucket, gitea, circuit: gitea, registry }
    close = await serveToPlatform(all, git)
    await writeFile(git.tokenFile, gitea.adminToken)
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    path = `/boundaries/${boundaryId}/sources`
  })
  after(async () => {
    await rm(testPlatform().git.tokenFile, { force: true })
    await close?.()
    await admin.close()
  })

  describe('GitLab', () => {
    let begun: Begun
    before(async () => {
      begun = await create('gitlab', { baseUrl: base('gitlab'), accessToken: planted })
      await ready(begun.deploymentSourceId)
    })

    it('lists sources with the account of the provider, and without credentials', async () => {
      const list = await expectCall<{ items: DeploymentSourceDto[] }>(200, 'GET', `${path}?filter=sourceName:eq:gitlab`)
      expect(list.body.items[0]).to.include({
        accountName: 'ada',
        status: 'Ready',
        repositoryCount: 3,
        hasWebhookSecret: true,
      })
      expect(list.text).to.not.contain(planted)
      const shown = JSON.stringify([
        await stored(begun.deploymentSourceId),
        await admin.list(secret, { namespace: 'default' }),
      ])
      expect(shown).to.not.contain(planted)
      const config = await expectCall<{ sorts: string[] }>(200, 'GET', `${path}/config`)
      expect(config.body.sorts).to.include.members(['displayName', 'createdAt'])
    })

    it('lists the installation and its repositories', async () => {
      const id = begun.deploymentSourceId
      const [installation] = await itemsOf<{ installationId: string; accountName: string }>(
        `${path}/gitlab/installations`,
      )
      expect(installation).to.include({ installationId: id, accountName: 'ada' })
      await expectCall(200, 'GET', `${path}/gitlab/installations/config`)
      const all = await expectCall<{ name: string }[]>(200, 'GET', `${path}/gitlab/${id}/repositories?search=site`)
      expect(all.body.map(({ name }) => name)).to.deep.equal(['site'])
    })

    it('returns a token for one repository', async () => {
      const at = `${path}/gitlab/installations/${begun.deploymentSourceId}/token`
      const answer = await expectCall<{ token: string; permissions: object }>(200, 'POST', `${at}/1`)
      expect(answer.body).to.include({ token: 'gldt-1' })
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      expect((await call('POST', `${at}/99`)).status).to.equal(404)
      expect((await call('POST', `${at}/..%2F1`)).status).to.be.oneOf([400, 404])
    })

    it('creates a webhook once', async () => {
      const at = `${path}/gitlab/installations/${begun.deploymentSourceId}/repositories/1/webhooks/ensure`
      expect((await expectCall<{ created: boolean }>(200, 'POST', at)).body.created).to.equal(true)
      expect((await expectCall<{ created: boolean }>(200, 'POST', at)).body.created).to.equal(false)
      expect(gitLab.hooks.map(({ token }) => token)).to.deep.equal([begun.webhookSecret])
    })

    it('reports the health of a source', async () => {
      type Report = { status: string; checks: { name: string; status: string }[] }
      const { body } = await expectCall<Report>(200, 'GET', `${path}/gitlab/${begun.deploymentSourceId}/health`)
      expect(body.checks.map(({ name, status }) => `${name} ${status}`)).to.deep.equal([
        ...['Reachable Healthy', 'Credential Healthy', 'Permissions Healthy', 'Webhook Healthy'],
      ])
      expect(body.status).to.equal('Healthy')
    })

    it('deletes a source with its Secret', async () => {
      const removed = await create('gitlab', { baseUrl: base('gitlab'), accessToken: planted })
      await expectCall(204, 'DELETE', `${path}/gitlab/${removed.deploymentSourceId}`)
      const ref = { namespace: boundaryNamespace(boundaryId), name: `dsrc-${removed.deploymentSourceId}` }
      await until('the Secret is deleted', () =>
        admin.get(secret, ref).then(
          () => false,
          () => true,
        ),
      )
      expect((await call('DELETE', `${path}/gitlab/${removed.deploymentSourceId}`)).body.code).to.equal(
        'source-unknown',
      )
    })
  })

  describe('POST /sources/{sourceName}/create rejects', () => {
    const cases: [string, string, object, number, string][] = [
      ['an unknown sourceName', 'svn', {}, 404, 'source-unknown'],
      ['a body without a credential', 'gitlab', {}, 400, 'missing-credential'],
      [
        'a credential that the provider refuses',
        'gitlab',
        { baseUrl: '', accessToken: 'bad' },
        400,
        'credential-rejected',
      ],
      ['a credential of another type', 'gitlab', { privateKey: 'x', accessToken: 'x' }, 400, 'bad-request'],
      ['an internal address', 'gitea', { baseUrl: 'https://10.0.0.1', accessToken: 'x' }, 400, 'url-not-allowed'],
      [
        'a cloud metadata address',
        'git',
        { baseUrl: 'https://169.254.169.254/x', accessToken: 'x' },
        400,
        'url-not-allowed',
      ],
      [
        'an internal address over ssh',
        'git',
        { baseUrl: 'ssh://git@127.0.0.1/x', privateKey: 'x' },
        400,
        'url-not-allowed',
      ],
      ['an http URL', 'gitea', { baseUrl: 'http://git.example.com', accessToken: 'x' }, 400, 'url-not-allowed'],
      ['a returnUrl to another host', 'github', { returnUrl: 'https://evil.example/' }, 400, 'bad-request'],
      ['an unknown field', 'github', { colour: 'red' }, 400, 'MODEL_BINDING_FAILED'],
    ]
    for (const [title, type, body, status, code] of cases) {
      it(title, async () => {
        const given = 'baseUrl' in body && body.baseUrl === '' ? { ...body, baseUrl: base(type) } : body
        const answer = await call('POST', `${path}/${type}/create`, { displayName: 'X', ...given })
        expect([answer.status, answer.body.code]).to.deep.equal([status, code])
      })
    }

    it('callers without the permission or without a token', async () => {
      const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
      const denied = await call('POST', `${path}/github/create`, { displayName: 'X' }, { token: reader.token })
      expect(denied.status).to.equal(403)
      expect((await call('GET', path, undefined, { token: null })).status).to.equal(401)
      expect((await call('GET', path, undefined, { token: reader.token })).status).to.equal(200)
    })
  })

  describe('GitHub', () => {
    const back = () => `${testPlatform().facadeUrl}/console`
    const at = (step: string, query: Record<string, string>) =>
      call('GET', `${path}/github/${step}?${new URLSearchParams(query)}`, undefined, { token: null })

    it('creates and installs an App with states that are valid once', async () => {
      const begun = await create('github', { baseUrl: base('github'), returnUrl: back() })
      expect([begun.status, begun.state === null]).to.deep.equal(['AwaitingInstall', false])
      const state = begun.state ?? ''
      const page = await (await fetch(begun.installUrl ?? '', { headers: { accept: 'text/html' } })).text()
      expect(page).to.contain(`${base('github')}/settings/apps/new?state=${state}`)
      expect(page).to.contain('contents').and.to.not.contain(begun.webhookSecret)

      expect((await at('finalize', { installation_id: INSTALLATION, state })).body.code).to.equal('state-invalid')
      const validated = await at('validate', { code: GITHUB_CODE, state })
      const first = new URL(validated.headers.get('location') ?? '')
      expect([validated.status, first.searchParams.get('result')]).to.deep.equal([302, 'ok'])
      expect((await at('validate', { code: GITHUB_CODE, state })).body.code).to.equal('state-invalid')
      expect(gitHub.hook.secret).to.equal(begun.webhookSecret)

      const next = new URL(first.searchParams.get('installUrl') ?? '').searchParams.get('state') ?? ''
      const done = await at('finalize', { installation_id: INSTALLATION, state: next, setup_action: 'install' })
      expect([done.status, done.headers.get('location')]).to.deep.equal([302, `${back()}?result=ok`])
      const again = await at('finalize', { installation_id: INSTALLATION, state: next })
      expect([again.status, again.body.code]).to.deep.equal([400, 'state-invalid'])

      const shown = await ready(begun.deploymentSourceId)
      expect(shown).to.include({ installationId: INSTALLATION, accountName: 'acme', accountType: 'Organization' })
      const token = `${path}/github/installations/${INSTALLATION}/token/1`
      expect((await expectCall<{ permissions: object }>(200, 'POST', token)).body.permissions).to.include({
        contents: 'read',
      })
      const ensure = `${path}/github/installations/${INSTALLATION}/repositories/1/webhooks/ensure`
      await expectCall(200, 'POST', ensure)
    })

    it('redirects to returnUrl when the creation was cancelled', async () => {
      const begun = await create('github', { baseUrl: base('github'), returnUrl: back() })
      const state = begun.state ?? ''
      const failed = await at('validate', { error: 'access_denied', state })
      expect(failed.headers.get('location')).to.equal(`${back()}?result=failed`)
      expect((await at('validate', { code: GITHUB_CODE, state })).body.code).to.equal('state-invalid')
      expect((await at('validate', { code: 'x' })).body.code).to.equal('state-invalid')
      expect((await at('finalize', { installation_id: '1', state: 'x'.repeat(86) })).body.code).to.equal(
        'state-invalid',
      )
    })
  })

  describe('states of GitHub', () => {
    const at = (step: string, query: Record<string, string>) =>
      call('GET', `${path}/github/${step}?${new URLSearchParams(query)}`, undefined, { token: null })
    const stateAt = (address: string) => new URL(address).searchParams.get('state') ?? ''

    it('are used up by a failed exchange, and by an installation of another App', async () => {
      const first = (await create('github', { baseUrl: base('github') })).state ?? ''
      const refused = await at('validate', { code: 'of-nobody', state: first })
      expect(new URL(refused.headers.get('location') ?? '').searchParams.get('result')).to.equal('failed')
      expect((await at('validate', { code: NEXT_GITHUB_CODE, state: first })).body.code).to.equal('state-invalid')

      const second = (await create('github', { baseUrl: base('github') })).state ?? ''
      const came = await Promise.all([1, 2, 3].map(() => at('validate', { code: NEXT_GITHUB_CODE, state: second })))
      expect(came.map(({ status }) => status).toSorted()).to.deep.equal([302, 400, 400])
      const state = stateAt(came.find(({ status }) => status === 302)?.headers.get('location') ?? '')
      expect((await at('finalize', { installation_id: '999', state })).body.code).to.equal('state-invalid')
      expect((await at('finalize', { installation_id: INSTALLATION, state })).body.code).to.equal('state-invalid')
    })
  })

  describe('container registries', () => {
    let begun: Begun
    let at: string
    before(async () => {
      begun = await create('registry', { registryUrl: base('registry'), username: 'ada', password: planted })
      at = `${path}/registry/${begun.deploymentSourceId}`
    })

    it('verifies whether an image can be pulled, and sends the stored password to no other host', async () => {
      const verdict = await expectCall<{ canPull: boolean; digest: string }>(200, 'POST', `${at}/verify`, {
        repository: 'team/app',
      })
      expect([verdict.body.canPull, verdict.body.digest.slice(0, 7)]).to.deep.equal([true, 'sha256:'])
      const elsewhere = await call('POST', `${at}/verify`, { registryUrl: 'https://registry.example.com' })
      expect([elsewhere.status, elsewhere.body.code]).to.deep.equal([400, 'missing-credential'])
      const inside = await call('POST', `${at}/verify`, { registryUrl: 'https://127.0.0.1', password: 'x' })
      expect(inside.body.code).to.equal('url-not-allowed')
    })

    it('writes the pull secret of a group for callers who may write there', async () => {
      const { name: resourceGroup } = await makeGroup(boundaryId)
      const body = { resourceGroup, repositories: ['team/app'] }
      type Made = { secretName: string; namespace: string; registry: string }
      const { body: made } = await expectCall<Made>(200, 'POST', `${at}/materialize`, body)
      expect(made).to.include({ registry: host, namespace: groupNamespace(boundaryId, resourceGroup) })
      const kept = await admin.get<KubeObject & { type: string; data: Record<string, string> }>(secret, {
        namespace: made.namespace,
        name: made.secretName,
      })
      const config = JSON.parse(Buffer.from(kept.data['.dockerconfigjson'] ?? '', 'base64').toString())
      expect([kept.type, Object.keys(config.auths)]).to.deep.equal([
        'kubernetes.io/dockerconfigjson',
        [`${host}/team/app`],
      ])
      await expectCall(200, 'POST', `${at}/materialize`, body)
      const metadata = { name: 'registry-somebody', namespace: made.namespace }
      await admin.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata } as KubeObject)
      const taken = await call('POST', `${at}/materialize`, { ...body, secretName: 'registry-somebody' })
      expect([taken.status, taken.body.code]).to.deep.equal([409, 'already-exists'])
      const other = await call('POST', `${at}/materialize`, { ...body, secretName: 'ctienv-shop--web' })
      expect([other.status, other.body.code]).to.deep.equal([400, 'bad-request'])
      const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
      expect((await call('POST', `${at}/materialize`, body, { token: reader.token })).status).to.equal(404)
      const unsupported = `${path}/registry/installations/${begun.deploymentSourceId}`
      const hook = await call('POST', `${unsupported}/repositories/1/webhooks/ensure`)
      expect([hook.status, hook.body.code]).to.deep.equal([501, 'webhooks-not-supported'])
      expect((await call('POST', `${unsupported}/token/1`)).body.code).to.equal('tokens-not-supported')
    })
  })

  describe('the Git host of the platform', () => {
    it('has an account, settings and repositories for each source', async () => {
      const begun = await create('circuit', {})
      await ready(begun.deploymentSourceId)
      const at = `${path}/circuit/${begun.deploymentSourceId}/circuit`
      const made = await expectCall<{ name: string }>(201, 'POST', `${at}/repositories`, { name: 'site' })
      expect(made.body.name).to.equal('site')
      expect((await call('POST', `${at}/repositories`, { name: 'site' })).body.code).to.equal('already-exists')
      expect((await call('POST', `${at}/repositories`, { name: '../x' })).status).to.equal(400)
      const settings = { enabled: false, sizeLimitMegabytes: 20 }
      const put = await expectCall<{ status: string; repositoryCount: number }>(200, 'PUT', at, settings)
      expect(put.body).to.include({ status: 'Disabled', repositoryCount: 1, sizeLimitMegabytes: 20 })
      expect((await call('POST', `${at}/repositories`, { name: 'other' })).body.code).to.equal('invalid-state')
      const other = await create('bitbucket', { baseUrl: base('bitbucket'), organization: 'acme', accessToken: 'bb' })
      const wrong = await call('PUT', `${path}/bitbucket/${other.deploymentSourceId}/circuit`, settings)
      expect([wrong.status, wrong.body.code]).to.deep.equal([409, 'not-a-circuit'])
    })
  })

  describe('kubectl', () => {
    const named = (spec: object) =>
      ({
        apiVersion: DeploymentSource.apiVersion,
        kind: DeploymentSource.kind,
        metadata: { name: crypto.randomUUID(), namespace: boundaryNamespace(boundaryId) },
        spec: { displayName: 'By kubectl', ...spec },
      }) as KubeObject

    it('lets a source use only a Secret that its writer may read', async () => {
      const begun = await create('gitlab', { baseUrl: base('gitlab'), accessToken: planted })
      const contributor = await makeCaller({ Contributor: `/boundaries/${boundaryId}` })
      const tenant = await clientWithToken(contributor.token)
      const stolen = { secretName: `dsrc-${begun.deploymentSourceId}` }
      const theft = named({ provider: 'Gitea', baseUrl: 'https://evil.example.com', credentials: stolen })
      const refusal = await tenant.create(DeploymentSource.resource, theft).then(
        () => undefined,
        (error: KubeError) => error.denial?.message,
      )
      expect(refusal).to.contain('may not get')
      await tenant.close()
      const own = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'own', namespace: boundaryNamespace(boundaryId) },
      }
      await admin.create(secret, { ...own, stringData: { token: planted } } as KubeObject)
      const credentials = { secretName: 'own' }
      const made = await admin.create(
        DeploymentSource.resource,
        named({ provider: 'GitLab', baseUrl: base('gitlab'), credentials }),
      )
      const shown = await ready(made.metadata.name)
      expect(shown).to.include({ accountName: 'ada', hasWebhookSecret: false })
    })

    it('reports a source with an internal address as invalid in its status', async () => {
      const spec = { provider: 'Gitea', baseUrl: 'https://10.0.0.1', credentials: { secretName: 'own' } }
      const made = await admin.create(DeploymentSource.resource, named(spec))
      await until('the status reports the reason', async () => {
        const { status } = (await stored(made.metadata.name)) as { status?: { phase?: string } }
        return status?.phase === 'ConfigurationInvalid' || status?.phase === 'ReferenceMissing'
      })
    })
  })
})
