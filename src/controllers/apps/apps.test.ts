import { expect } from 'chai'
import { HOME, OUTER, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { giveUpDeployment } from '../../../test/worlds/deploymentsPlay.ts'
import {
  COMPONENT_LABEL,
  containerNamesOf,
  RELEASE_COMPONENT,
  REVISION_LABEL,
} from '../../contracts/containerinstances.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { APP_COMPONENT, PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { deployment, horizontalPodAutoscaler, job, pod } from '../../kube/builtin.ts'

const NAME = 'shop'
const OTHER = '6e2f8a52-7a4e-4b52-9a55-0d6c8f3f9b03'
const AGAIN = '7e2f8a52-7a4e-4b52-9a55-0d6c8f3f9b04'
const CONTROLLERS = ['platformapp', 'deploymentrecord']
const app = { sourceKind: 'Image', image: 'site:1' }

describe('PlatformApp controller', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  const make = async (spec: object = app) => {
    await world.make(PlatformApp, NAME, spec)
    await world.rest()
  }
  const change = async (spec: object) => {
    await world.change(PlatformApp, NAME, spec)
    await world.rest()
  }
  const status = async () => ((await world.find(PlatformApp.resource, NAME))?.status ?? {}) as Record<string, unknown>
  const says = async () => {
    const { status: state, phase, statusMessage } = await status()
    return `${state} ${phase}: ${statusMessage}`
  }
  const deployments = async () =>
    (await world.server.list(DeploymentRecord.resource)).items
      .map(({ status: seen }) => seen as { number: number; stage: string; image?: string })
      .sort((one, other) => one.number - other.number)
      .map(({ number, stage, image }) => `${number} ${stage} ${image}`)
  const copies = async () =>
    (await world.server.list(pod)).items
      .map(({ metadata: { labels } }) => `${labels?.[COMPONENT_LABEL]} ${labels?.[REVISION_LABEL]}`)
      .sort()

  const running = async () => {
    const [found] = (await world.server.list(deployment)).items as unknown as {
      spec: {
        replicas: number
        template: { spec: { containers: [{ readinessProbe: { initialDelaySeconds: number } }] } }
      }
    }[]
    return found?.spec
  }
  const probation = async () => (await running())?.template.spec.containers[0].readinessProbe.initialDelaySeconds

  const giveUp = (ahead?: number) => giveUpDeployment(world, ahead)

  it('serves the image of the spec as a deployment record of its own', async () => {
    await make()
    expect(await says()).to.equal('Running Available: The copy is ready.')
    expect(await deployments()).to.deep.equal(['1 Succeeded site:1'])
    const { servingRevision, servingImage, revision } = await status()
    expect({ servingRevision, servingImage, revision }).to.deep.equal({
      ...{ servingRevision: 1, servingImage: 'site:1', revision: 1 },
    })
  })

  it('keeps the old revision while a new image crashes and rolls back without a probe delay', async () => {
    await make()
    await change({ image: 'site:crashing' })
    expect(await says()).to.include('CrashLooping: A container of component "app"')
    expect(await copies()).to.deep.equal(['app 1', 'app 2'])
    expect(await deployments()).to.deep.equal(['1 Succeeded site:1', '2 Deploying site:crashing'])
    expect((await status()).servingRevision).to.equal(1)
    await change({ image: 'site:1' })
    expect(await says()).to.equal('Running Available: The copy is ready.')
    expect(await deployments()).to.deep.equal([
      '1 Succeeded site:1',
      '2 Superseded site:crashing',
      '3 Succeeded site:1',
    ])
    expect(await probation()).to.equal(0)
  })

  it('gives a new image its full progress deadline after the previous one exceeded it', async () => {
    await make()
    await change({ image: 'site:crashing' })
    await giveUp()
    expect(await deployments()).to.deep.equal(['1 Succeeded site:1', '2 Failed site:crashing'])
    await change({ image: 'site:slow' })
    expect((await deployments()).at(-1)).to.equal('3 Deploying site:slow')
    await giveUp()
    expect((await deployments()).at(-1)).to.equal('3 Failed site:slow')
    await change({ image: 'site:2' })
    expect((await deployments()).at(-1)).to.equal('4 Succeeded site:2')
  })

  for (const [sentence, ahead] of [
    ['an hour behind', -3_600_000],
    ['an hour ahead', 3_600_000],
  ] as const)
    it(`judges rollouts in a cluster whose clock is ${sentence}`, async () => {
      await make()
      await change({ image: 'site:crashing' })
      await giveUp(ahead)
      expect(await deployments()).to.deep.equal(['1 Succeeded site:1', '2 Failed site:crashing'])
      await change({ image: 'site:slow' })
      expect((await deployments()).at(-1)).to.equal('3 Deploying site:slow')
      await giveUp(ahead)
      expect((await deployments()).at(-1)).to.equal('3 Failed site:slow')
    })

  it('delays readiness by 10 seconds for an image that has not served yet, except for the first one', async () => {
    await make()
    expect(await probation(), 'the first').to.equal(0)
    await change({ image: 'site:2' })
    expect(await probation(), 'a new one').to.equal(10)
    await change({ replicas: 2 })
    expect(await probation(), 'the same, served').to.equal(10)
    await change({ image: 'site:crashing' })
    await change({ image: 'site:1' })
    expect(await probation(), 'the first again').to.equal(0)
    await change({ image: 'site:crashing' })
    expect(await probation(), 'one that was tried and never served').to.equal(10)
  })

  it('creates a HorizontalPodAutoscaler while minReplicas and maxReplicas are set', async () => {
    await make({ ...app, minReplicas: 2, maxReplicas: 4 })
    expect((await running())?.replicas).to.equal(2)
    expect((await world.server.list(horizontalPodAutoscaler)).items).to.have.length(1)
    await change({ minReplicas: null, maxReplicas: null, replicas: 1 })
    expect((await world.server.list(horizontalPodAutoscaler)).items).to.have.length(0)
  })

  it('runs the release command of a revision once and removes its Job', async () => {
    await make({ ...app, releaseCommand: 'migrate' })
    expect(await says()).to.include('Running')
    expect((await status()).releasedRevision).to.equal(1)
    const jobs = async () => (await world.server.list(job)).items.map(({ metadata: { name } }) => name)
    await change({ image: 'site:2' })
    expect((await status()).releasedRevision).to.equal(2)
    await change({ replicas: 2 })
    expect(await jobs()).to.deep.equal([])
  })

  it('reports that the image of the release command cannot be pulled while the old image serves', async () => {
    await make()
    await change({ image: 'site:missing', releaseCommand: 'migrate' })
    expect(await says()).to.include('The image site:missing of the release command cannot be pulled')
    expect((await status()).servingImage).to.equal('site:1')
    expect(await copies()).to.include('app 1')
  })

  for (const [title, isOver] of [
    ['does not end', false],
    ['failed', true],
  ] as const)
    describe(`with a release command that ${title}`, () => {
      const replicas = async () => (await running())?.replicas

      beforeEach(async () => {
        await make()
        await change({ image: 'site:missing', releaseCommand: 'migrate' })
        const [release] = (await world.server.list(job)).items
        if (!isOver || release === undefined) return
        world.server.edit(job, refOf(release), (object) => {
          object.status = { conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }] }
        })
        await world.rest()
        expect(await says()).to.include('The release command failed')
      })

      it('scales the serving image to the wanted number of copies', async () => {
        await change({ replicas: 3 })
        expect(await replicas()).to.equal(3)
        await change({ minReplicas: 4, maxReplicas: 5 })
        expect(await replicas()).to.equal(4)
        expect((await world.server.list(horizontalPodAutoscaler)).items).to.have.length(1)
        expect((await status()).servingImage).to.equal('site:1')
      })

      it('serves the previous image again after a stop and a start', async () => {
        await change({ running: false })
        expect(await replicas()).to.equal(0)
        await change({ running: true })
        expect(await replicas()).to.equal(1)
        expect((await status()).servingImage).to.equal('site:1')
      })
    })

  it('leaves a foreign Deployment with its name unscaled while the release command runs', async () => {
    const name = containerNamesOf({ kind: PlatformApp.kind, metadata: { name: NAME } }).component(APP_COMPONENT)
    const template = { metadata: {}, spec: { containers: [{ name: 'web', image: 'theirs:1' }] } }
    await world.server.create(deployment, {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: HOME } },
      spec: { replicas: 5, template },
    })
    await make({ ...app, image: 'site:missing', releaseCommand: 'migrate' })
    expect(await says()).to.include('of the release command')
    expect((await running())?.replicas).to.equal(5)
  })

  it('lets a running release command finish after a restart request', async () => {
    await make({ ...app, image: 'site:missing', releaseCommand: 'migrate' })
    const uids = async () => (await world.server.list(job)).items.map(({ metadata: { uid } }) => uid)
    const before = await uids()
    expect(before).to.have.length(1)
    await change({ restartedAt: '2026-01-01T00:01:00Z' })
    expect(await uids()).to.deep.equal(before)
  })

  it('reports why the release command failed after an eviction and after an exit', async () => {
    await make()
    await change({ image: 'site:missing', releaseCommand: 'migrate' })
    const endAs = async (status: object) => {
      const [release] = (await world.server.list(job)).items
      const pods = (await world.server.list(pod)).items
      const own = pods.find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === RELEASE_COMPONENT)
      if (release === undefined || own === undefined) throw new Error('No release command runs.')
      world.server.edit(pod, refOf(own), (object) => {
        object.status = status
      })
      world.server.edit(job, refOf(release), (object) => {
        object.status = { conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }] }
      })
      await world.rest()
    }
    const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 4Gi.'
    await endAs({ phase: 'Failed', reason: 'Evicted', message, startTime: '2026-11-02T08:00:00Z' })
    expect(await says()).to.include(
      'Its container was evicted at 2026-11-02T08:00:00Z: it wrote more to the disk than its limit of 4Gi.',
    )
    const terminated = { exitCode: 137, reason: 'OOMKilled' }
    await endAs({ phase: 'Failed', containerStatuses: [{ name: 'app', state: { terminated } }] })
    expect(await says()).to.include('Its last exit code is 137. The reason is OOMKilled.')
  })

  describe('with a failed release command of a deployment', () => {
    const release = async () => (await world.server.list(job)).items[0]
    const end = async (type: 'Failed' | 'Complete') => {
      const found = await release()
      if (found === undefined) throw new Error('No release command runs.')
      world.server.edit(job, refOf(found), (object) => {
        object.status = { conditions: [{ type, status: 'True', reason: 'BackoffLimitExceeded' }] }
      })
      await world.rest()
    }
    const told = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Image', image: 'site:missing' }

    beforeEach(async () => {
      await make({ sourceKind: 'Upload', releaseCommand: 'migrate' })
      await world.make(DeploymentRecord, OTHER, told)
      await world.rest()
      await end('Failed')
      expect(await says()).to.include('The release command failed')
    })

    it('does not rerun it after a change of replicas and tags', async () => {
      const before = await release()
      await change({ replicas: 2, tags: { a: 'b' } })
      expect((await release())?.metadata.uid).to.equal(before?.metadata.uid)
    })

    for (const [title, act] of [
      ['after a restart', () => change({ restartedAt: '2026-01-01T00:01:00Z' })],
      ['after a change of the command', () => change({ releaseCommand: 'migrate --all' })],
      [
        'after another deployment of the same image',
        async () => {
          await world.make(DeploymentRecord, AGAIN, told)
          await world.rest()
        },
      ],
    ] as const)
      it(`reruns it ${title} and rolls out when it succeeds`, async () => {
        const before = await release()
        await act()
        expect((await release())?.metadata.uid).to.not.equal(before?.metadata.uid)
        expect(await says()).to.include('of the release command')
        await end('Complete')
        expect((await status()).releasedRevision).to.equal(1)
        expect(await copies()).to.deep.equal(['app 1'])
      })
  })

  it('records source, provider and repository of each deployment, including a rollback', async () => {
    const [id, repositoryUrl] = ['5d2f8a52-7a4e-4b52-9a55-0d6c8f3f9b02', 'https://github.com/acme/shop.git']
    await world.make(DeploymentSource, id, { provider: 'GitHub', displayName: 'Acme', baseUrl: repositoryUrl }, OUTER)
    await make({ sourceKind: 'Repository', repositoryUrl, deploymentSourceId: id })
    const origins = async () =>
      (await world.server.list<DeploymentRecord & KubeObject>(DeploymentRecord.resource)).items
        .sort((one, other) => (one.status?.number ?? 0) - (other.status?.number ?? 0))
        .map(({ spec: { strategy, source, provider, repositoryName } }) => [strategy, source, provider, repositoryName])
    const code = ['Acme', 'GitHub', 'acme/shop']
    expect(await origins()).to.deep.equal([['Build', ...code]])
    // An image built elsewhere from the same repository.
    const origin = { source: 'Acme', provider: 'GitHub', repositoryName: 'acme/shop' }
    const other = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Image', image: 'site:9', ...origin }
    await world.make(DeploymentRecord, OTHER, other)
    await world.until('it serves', async () => (await status()).servingDeployment === OTHER)
    await change({ rollback: { deploymentId: OTHER, requestedAt: '2026-01-01T00:00:00Z' } })
    expect(await origins()).to.deep.equal([
      ['Build', ...code],
      ['Image', ...code],
      ['Image', ...code],
    ])
  })

  it('removes its Deployment when it is deleted', async () => {
    await make()
    await world.remove(PlatformApp, NAME)
    await world.until('it is gone', async () => (await world.find(PlatformApp.resource, NAME)) === undefined)
    expect((await world.server.list(deployment)).items).to.deep.equal([])
  })
})
