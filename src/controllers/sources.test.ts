import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { FakeCircuit, FakeSources } from '../adapters/sources/fake.ts'
import { HEADS_KEPT, withDelivery } from '../contracts/sources/journal.ts'
import { sourceSecretName } from '../contracts/sources/providers.ts'
import { sha256 } from '../core/names.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { PlatformApp } from '../crds/apps.ts'
import { DeploymentRecord } from '../crds/deployments.ts'
import { DeploymentSource } from '../crds/sources.ts'
import { secret } from '../kube/builtin.ts'
import { sourceController } from './sources.ts'

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const HOST = 'https://git.platform.test'
const HOUR = 3_600_000
const MINUTE = 60_000

type Source = DeploymentSource & KubeObject

describe('DeploymentSource controller', () => {
  let bench: ControllerBench
  let port: FakeSources
  let circuit: FakeCircuit
  let space: string
  let groupSpace: string
  const open = (host: string | undefined = HOST) => {
    port = new FakeSources()
    circuit = host === 'none' ? Object.assign(new FakeCircuit(), { baseUrl: undefined }) : new FakeCircuit(host)
    bench = new ControllerBench([sourceController({ port, circuit })])
    const group = bench.seedGroup('shop')
    space = group.boundarySpace
    groupSpace = group.groupSpace
  }
  const source = (spec: object) =>
    bench.seed(DeploymentSource, ID, { displayName: 'Shop', ...spec }, { namespace: space })
  const gitea = { provider: 'Gitea', baseUrl: 'https://git.example.com', credentials: { secretName: 'shop' } }
  const keep = (data: Record<string, string>, name = 'shop') => {
    const entries = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
    const metadata = { name, namespace: space }
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      data: Object.fromEntries(entries),
    } as KubeObject)
  }
  const status = async () => ((await bench.find(DeploymentSource.resource, ID, space)) as Source).status ?? {}

  beforeEach(() => open())
  afterEach(() => bench.stop())

  it('checks the provider after an installation event and follows a suspension and its end', async () => {
    source({ provider: 'GitHub', baseUrl: 'https://github.com', installationId: '1' })
    keep({ 'app-id': '7', 'app-slug': 'app', 'private-key': 'good-token' }, sourceSecretName(ID))
    await bench.start()
    expect(await status()).to.include({ phase: 'Available' })
    for (const [id, suspendedAt, expected] of [
      ['one', '2026-01-01T00:00:00Z', 'Degraded'],
      ['two', undefined, 'Running'],
    ] as const) {
      port.suspendedAt = suspendedAt
      const event = { kind: 'Changed', installationId: '1' } as const
      const told = withDelivery(await status(), { id, keys: [id], event, at: '2026-01-01T00:00:00Z' }, '1')
      const ref = { namespace: space, name: ID }
      await bench.client.mergePatch(DeploymentSource.resource, ref, { status: told }, { subresource: 'status' })
      await bench.rest()
      expect((await status()).status).to.equal(expected)
    }
    expect((await status()).installation).to.not.have.property('suspendedAt')
  })

  it('signs in with the credentials Secret and reports account and repositories', async () => {
    source(gitea)
    keep({ token: 'good-token', 'webhook-secret': 's'.repeat(32) })
    await bench.start()
    expect(await status()).to.include({
      phase: 'Available',
      accountName: 'acme',
      repositoryCount: 1,
      hasWebhookSecret: true,
    })
  })

  it('updates the number of repositories at each check', async () => {
    source(gitea)
    keep({ token: 'good-token' })
    await bench.start()
    expect((await status()).repositoryCount).to.equal(1)
    const connection = { ...gitea, provider: 'Gitea', credentials: { token: 'good-token' } } as const
    await port.createRepository(connection, { name: 'another' })
    await bench.clock.advance(HOUR + MINUTE)
    await bench.rest()
    expect((await status()).repositoryCount).to.equal(2)
  })

  const stalls: [string, object, Record<string, string>, string][] = [
    ['ReferenceMissing without the credentials Secret', gitea, {}, 'ReferenceMissing'],
    ['ConfigurationInvalid with rejected credentials', gitea, { token: 'bad' }, 'ConfigurationInvalid'],
    [
      'WaitingForDependency until the GitHub App is installed',
      { provider: 'GitHub', baseUrl: 'https://github.com' },
      {},
      'WaitingForDependency',
    ],
    [
      "ConfigurationInvalid with another host than the platform's Git host",
      { provider: 'Circuit', baseUrl: 'https://evil.example' },
      {},
      'ConfigurationInvalid',
    ],
  ]
  for (const [title, spec, data, phase] of stalls) {
    it(`reports ${title}`, async () => {
      source(spec)
      if (Object.keys(data).length > 0) keep(data)
      await bench.start()
      expect((await status()).phase).to.equal(phase)
    })
  }

  it('retries an unreachable provider after 5 minutes and checks a reachable one once an hour', async () => {
    source(gitea)
    keep({ token: 'good-token' })
    port.isAway = true
    await bench.start()
    expect((await status()).phase).to.equal('PartiallyAvailable')
    port.isAway = false
    await bench.clock.advance(HOUR / 12)
    await bench.rest()
    expect((await status()).phase).to.equal('Available')
    let asked = 0
    const { check } = FakeSources.prototype
    port.check = (connection) => {
      asked += 1
      return check.call(port, connection)
    }
    await bench.client.mergePatch(
      DeploymentSource.resource,
      { namespace: space, name: ID },
      { status: { lastEventAt: '2026-01-01T00:00:00Z' } },
      { subresource: 'status' },
    )
    await bench.rest()
    expect(asked, 'a delivery is no reason to ask').to.equal(0)
    await bench.clock.advance(HOUR + 1)
    await bench.rest()
    expect(asked).to.equal(1)
  })

  it("creates an account at the platform's Git host with its token in a Secret and deletes it with the source", async () => {
    source({ provider: 'Circuit', baseUrl: HOST, circuit: {} })
    await bench.start()
    expect((await status()).phase).to.equal('Available')
    expect(circuit.accounts.size).to.equal(1)
    const kept = (await bench.find(secret, sourceSecretName(ID), space)) as { data?: object } | undefined
    expect(kept?.data).to.have.all.keys('token', 'token-issued-at', 'webhook-secret')
    await bench.client.remove(DeploymentSource.resource, { namespace: space, name: ID })
    await bench.rest()
    expect(circuit.accounts.size).to.equal(0)
    expect(await bench.find(DeploymentSource.resource, ID, space)).to.equal(undefined)
  })

  it("replaces the token of the platform's Git host twice a day, and keeps the last one valid", async () => {
    source({ provider: 'Circuit', baseUrl: HOST, circuit: {} })
    await bench.start()
    const issuedAt = async () => {
      const kept = (await bench.find(secret, sourceSecretName(ID), space)) as { data?: Record<string, string> }
      return Buffer.from(kept.data?.['token-issued-at'] ?? '', 'base64').toString()
    }
    const first = await issuedAt()
    await bench.clock.advance(11 * HOUR)
    await bench.rest()
    expect(circuit.opened).to.deep.equal([undefined])
    await bench.clock.advance(HOUR)
    await bench.rest()
    expect(circuit.opened).to.deep.equal([undefined, 'good-token'])
    expect(Date.parse(await issuedAt()) - Date.parse(first)).to.equal(12 * HOUR)
    expect((await status()).phase).to.equal('Available')
  })

  it('replaces a token of an earlier version, of which nobody knows the age', async () => {
    source({ provider: 'Circuit', baseUrl: HOST, circuit: {} })
    keep({ token: 'good-token', 'webhook-secret': 'kept' }, sourceSecretName(ID))
    await bench.start()
    expect(circuit.opened).to.deep.equal(['good-token'])
    const kept = (await bench.find(secret, sourceSecretName(ID), space)) as { data?: Record<string, string> }
    expect(kept.data?.['webhook-secret']).to.equal(Buffer.from('kept').toString('base64'))
  })

  it('blocks its deletion by an app that was created just before', async () => {
    source({ provider: 'Circuit', baseUrl: HOST, circuit: {} })
    await bench.start()
    const app = { sourceKind: 'Repository', repositoryUrl: `${HOST}/a/b`, deploymentSourceId: ID }
    bench.seed(PlatformApp, 'site', app, { namespace: groupSpace })
    await bench.client.remove(DeploymentSource.resource, { namespace: space, name: ID })
    await bench.rest()
    expect(await status()).to.include({ phase: 'DeletionBlocked' })
    expect(circuit.accounts.size).to.equal(1)
    await bench.client.remove(PlatformApp.resource, { namespace: groupSpace, name: 'site' })
    await bench.rest()
    expect(await bench.find(DeploymentSource.resource, ID, space)).to.equal(undefined)
    expect(circuit.accounts.size).to.equal(0)
  })

  it('reports EngineMissing on a platform without a Git host', async () => {
    await bench.stop()
    open('none')
    source({ provider: 'Circuit', baseUrl: HOST, circuit: {} })
    await bench.start()
    expect((await status()).phase).to.equal('EngineMissing')
  })

  describe('previews', () => {
    const DAY = 24 * HOUR
    const url = 'https://git.example.com/acme/shop'
    const push = (branch: string) => {
      const [repositoryName, ref, kind] = ['acme/shop', `refs/heads/${branch}`, 'Push']
      const receivedAt = new Date(bench.clock.now()).toISOString()
      return {
        ...{ kind, ref, repositoryName, repositoryId: '1', deliveryId: branch, receivedAt },
        commit: 'c'.repeat(40),
      }
    }
    const tell = async (...heads: object[]) => {
      const ref = { namespace: space, name: ID }
      await bench.client.mergePatch(DeploymentSource.resource, ref, { status: { heads } }, { subresource: 'status' })
      await bench.rest()
    }
    const apps = async () => {
      const { items } = await bench.client.list<PlatformApp & KubeObject>(PlatformApp.resource)
      return items.map(({ spec }) => spec.branch).sort()
    }
    const follow = { sourceKind: 'Repository', repositoryUrl: url, deploymentSourceId: ID, branch: 'main' }

    beforeEach(async () => {
      source(gitea)
      keep({ token: 'good-token' })
      bench.seed(PlatformApp, 'shop', { ...follow, previewBranches: ['feature/*'] }, { namespace: groupSpace })
      await bench.start()
    })

    it('are created for pushes to branches that match and deleted with the branch', async () => {
      await tell(push('feature/a'), push('main'), push('other'))
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await tell(push('main'), push('other'))
      expect(await apps()).to.deep.equal(['main'])
    })

    it('are deleted 7 days after the last push', async () => {
      await tell(push('feature/a'))
      await bench.clock.advance(6 * DAY)
      await bench.rest()
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await bench.clock.advance(DAY + 1)
      await bench.rest()
      expect(await apps()).to.deep.equal(['main'])
    })

    const ofOthers = () =>
      Array.from({ length: HEADS_KEPT }, (_, at) => ({
        ...push('main'),
        repositoryName: `acme/o${at}`,
        repositoryId: `o${at}`,
      }))

    it('are kept for 7 days although pushes to other repositories displace theirs', async () => {
      await tell(push('feature/a'))
      await bench.clock.advance(DAY)
      await tell(...ofOthers())
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await bench.clock.advance(6 * DAY + MINUTE)
      await bench.rest()
      expect(await apps()).to.deep.equal(['main'])
    })

    it('are deleted with the branch although pushes to other repositories displace it', async () => {
      const others = ofOthers()
      await bench.clock.advance(DAY)
      await tell(...others.slice(1), push('feature/a'))
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await tell(...others)
      expect(await apps()).to.deep.equal(['main'])
    })

    it('are deleted when the app changes its repository or loses its deployment source', async () => {
      const own = { namespace: groupSpace, name: 'shop' }
      await tell(push('feature/a'))
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await bench.client.mergePatch(PlatformApp.resource, own, { spec: { repositoryUrl: `${url}-other` } })
      await bench.rest()
      expect(await apps()).to.deep.equal(['main'])
      await bench.client.mergePatch(PlatformApp.resource, own, { spec: { repositoryUrl: url } })
      await bench.rest()
      expect(await apps()).to.deep.equal(['feature/a', 'main'])
      await bench.client.mergePatch(PlatformApp.resource, own, { spec: { deploymentSourceId: null } })
      await bench.rest()
      expect(await apps()).to.deep.equal(['main'])
    })

    it('are deleted with the deployment source', async () => {
      await tell(push('feature/a'))
      await bench.client.remove(DeploymentSource.resource, { namespace: space, name: ID })
      await bench.rest()
      expect(await apps()).to.deep.equal(['main'])
    })

    for (const reason of ['Invalid', 'Forbidden'] as const)
      it(`that fail with ${reason} do not prevent deployments of other pushes`, async () => {
        bench.client.fail('create', PlatformApp.resource, reason, 1_000)
        await tell(push('feature/a'), push('main'))
        expect(await apps()).to.deep.equal(['main'])
        const { items } = await bench.client.list<DeploymentRecord & KubeObject>(DeploymentRecord.resource)
        expect(items.map(({ spec }) => spec.branch)).to.deep.equal(['main'])
      })

    const deployed = async () => (await bench.client.list(DeploymentRecord.resource)).items.length
    for (const [title, change, none] of [
      ['circuit.enabled is false', { spec: { circuit: { enabled: false } } }, { spec: { circuit: { enabled: true } } }],
      [
        'the installation was removed',
        { status: { removedAt: '2026-01-01T00:00:00Z' } },
        { status: { removedAt: null } },
      ],
    ] as const)
      it(`and deployments are not created while ${title}, but afterwards`, async () => {
        const ref = { namespace: space, name: ID }
        const options = 'status' in change ? ({ subresource: 'status' } as const) : {}
        await tell(push('feature/a'))
        await bench.client.mergePatch(DeploymentSource.resource, ref, change, options)
        await bench.rest()
        await tell(push('feature/a'), push('feature/b'), push('main'))
        expect(await apps()).to.deep.equal(['feature/a', 'main'])
        expect(await deployed()).to.equal(0)
        await bench.client.mergePatch(DeploymentSource.resource, ref, none, options)
        await bench.rest()
        expect(await apps()).to.deep.equal(['feature/a', 'feature/b', 'main'])
        expect(await deployed()).to.equal(1)
      })

    it('are deleted when previewBranches is cleared and never overwrite another app', async () => {
      const name = `shop-${sha256('feature/a').slice(0, 8)}`
      bench.seed(PlatformApp, name, { ...follow, branch: 'mine' }, { namespace: groupSpace })
      await tell(push('feature/a'), push('feature/b'))
      expect(await apps()).to.deep.equal(['feature/b', 'main', 'mine'])
      const own = (await bench.client.list(PlatformApp.resource)).items.find(({ metadata }) => metadata.name === 'shop')
      if (own === undefined) throw new Error('no app')
      await bench.client.mergePatch(PlatformApp.resource, refOf(own), { spec: { previewBranches: [] } })
      await bench.rest()
      expect(await apps()).to.deep.equal(['main', 'mine'])
    })
  })
})
