import { BUILD_NAMESPACE } from '../../../src/contracts/builds/progress.ts'
import { revisionOf } from '../../../src/contracts/revisions.ts'
import { PlatformApp } from '../../../src/crds/apps.ts'
import { DeploymentRecord } from '../../../src/crds/deployments.ts'
import { controllerRevision, job, pod } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME } from '../seeds.ts'
import type { World } from '../world.ts'

const NAME = 'shop'
const app = { sourceKind: 'Image', image: 'site:1' }

const isReady = (world: World) => world.isReady(PlatformApp, NAME)
const make = (spec: object = app): Step => ({
  user: 'makes an app',
  act: (world) => world.make(PlatformApp, NAME, spec),
  until: isReady,
})
const serves = (image: string) => async (world: World) => {
  const status = (await world.find(PlatformApp.resource, NAME))?.status as { servingImage?: string } | undefined
  return status?.servingImage === image && isReady(world)
}
const change = (user: string, spec: object, until: Step['until'] = isReady): Step => ({
  user,
  act: (world) => world.change(PlatformApp, NAME, spec),
  ...(until !== undefined && { until }),
})

/** Which revisions run, and what is recorded of each deployment. */
async function facts(world: World): Promise<object> {
  const pods = (await world.server.list(pod)).items.filter(({ metadata }) => metadata.namespace === HOME)
  const revisions = (await world.server.list(controllerRevision)).items.flatMap((one) => revisionOf(one) ?? [])
  const records = (await world.server.list(DeploymentRecord.resource)).items
  return {
    pods: pods
      .map(({ metadata: { labels } }) => `${labels?.['freehold.dev/component']} ${labels?.['freehold.dev/revision']}`)
      .sort(),
    revisions: revisions.map(({ number, reason }) => `${number} ${reason}`).sort(),
    builds: (await world.server.list(job)).items
      .filter(({ metadata }) => metadata.namespace === BUILD_NAMESPACE)
      .map(({ metadata }) => metadata.name),
    deployments: records
      .map(({ status }) => status as { number?: number; stage?: string; image?: string })
      .map(({ number, stage, image }) => `${number} ${stage} ${image}`)
      .sort(),
  }
}

const common = { controllers: ['platformapp', 'deploymentrecord'], facts }

export const appFlows: readonly Flow[] = [
  {
    ...common,
    title: 'an app of an image is created and serves',
    steps: [make({ ...app, releaseCommand: 'migrate', minReplicas: 1, maxReplicas: 3 })],
  },
  {
    ...common,
    title: 'an app is changed to another image, and back',
    given: [make()],
    steps: [
      change('asks for another image', { image: 'site:2' }, serves('site:2')),
      change('asks for the one before', { image: 'site:1' }, serves('site:1')),
    ],
  },
  {
    ...common,
    title: 'an app receives reported deployments, and is rolled back',
    given: [make({ sourceKind: 'Upload' }), ...reported('11111111-1111-4111-8111-111111111111', 'site:1')].map(
      unwaited,
    ),
    steps: [
      ...reported('22222222-2222-4222-8222-222222222222', 'site:2'),
      change(
        'goes back',
        { rollback: { deploymentId: '11111111-1111-4111-8111-111111111111', requestedAt: '2026-01-02T00:00:00Z' } },
        serves('site:1'),
      ),
    ],
  },
  {
    ...common,
    title: 'an app is built from its repository, and from another branch',
    steps: [
      make({ sourceKind: 'Repository', repositoryUrl: 'https://git.test/shop.git' }),
      change('asks for another branch', { branch: 'next' }, async (world) => (await built(world)) === 2),
    ],
  },
  {
    ...common,
    title: 'an app is deployed again, and the queued deployment is cancelled',
    given: [make({ sourceKind: 'Repository', repositoryUrl: 'https://git.test/shop.git' })],
    steps: [
      {
        user: 'builds elsewhere',
        act: (world) => world.make(DeploymentRecord, '11111111-1111-4111-8111-111111111111', BUILDING),
        until: async (world) => (await inStage(world, 'Building')) !== undefined,
      },
      change(
        'asks for a build',
        { deploy: { requestedAt: '2099-01-01T00:00:00Z' } },
        async (world) => (await inStage(world, 'Queued')) !== undefined,
      ),
      {
        user: 'cancels it',
        act: async (world) =>
          world.change(PlatformApp, NAME, { cancelledDeployment: (await inStage(world, 'Queued'))?.metadata.name }),
        until: async (world) => (await inStage(world, 'Cancelled')) !== undefined,
      },
    ],
  },
  {
    ...common,
    title: 'an app is deleted during a build',
    given: [unwaited(make({ sourceKind: 'Repository', repositoryUrl: 'https://git.test/shop.git' }), 0)],
    steps: [
      {
        user: 'deletes it',
        act: (world) => world.remove(PlatformApp, NAME),
        until: (world) => world.isGone(PlatformApp, NAME),
      },
    ],
  },
  {
    ...common,
    title: 'an app is deleted with all its objects',
    given: [make({ ...app, releaseCommand: 'migrate' })],
    steps: [
      {
        user: 'deletes it',
        act: (world) => world.remove(PlatformApp, NAME),
        until: (world) => world.isGone(PlatformApp, NAME),
      },
    ],
  },
]

const BUILDING = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Reported', phase: 'Building' }

async function inStage(world: World, stage: string) {
  const records = (await world.server.list(DeploymentRecord.resource)).items
  return records.find(({ status }) => (status as { stage?: string } | undefined)?.stage === stage)
}

/** How many of its deployments were served. */
async function built(world: World): Promise<number> {
  const records = (await world.server.list(DeploymentRecord.resource)).items
  const stages = records.map(({ status }) => (status as { stage?: string } | undefined)?.stage)
  return (await isReady(world)) ? stages.filter((stage) => stage === 'Succeeded').length : 0
}

function reported(id: string, image: string): Step[] {
  const spec = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Reported', phase: 'Succeeded', image }
  return [{ user: `builds ${image}`, act: (world) => world.make(DeploymentRecord, id, spec), until: serves(image) }]
}

/** Nothing is ready before it is deployed. */
function unwaited(step: Step, at: number): Step {
  const { until, ...rest } = step
  return at === 0 || until === undefined ? rest : { ...rest, until }
}
