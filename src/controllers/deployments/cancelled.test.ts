import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { buildName } from '../../contracts/builds/progress.ts'
import { type DeploymentPhase, isBuildingPhase } from '../../contracts/deployments.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { job } from '../../kube/builtin.ts'

const NAME = 'shop'
const CODE = { sourceKind: 'Repository', repositoryUrl: 'https://git.example.com/acme/shop.git' }

describe('cancellation of a deployment', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['platformapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(PlatformApp, NAME, CODE)
  })
  afterEach(() => world.stop())

  type Stored = DeploymentRecord & KubeObject
  const all = async () => (await world.server.list<Stored>(DeploymentRecord.resource)).items
  const numbered = async (number: number) => (await all()).find(({ status }) => status?.number === number)
  const isIn = (number: number, stage: DeploymentPhase) =>
    world.until(`deployment ${number} is ${stage}`, async () => (await numbered(number))?.status?.stage === stage)
  /** Round by round, because it would be finished at rest. */
  const isBuilt = async (number: number) => {
    for (let rounds = 0; rounds < 10; rounds += 1) {
      await world.round()
      if (isBuildingPhase((await numbered(number))?.status?.stage)) return
    }
    throw new Error(`Deployment ${number} is never built.`)
  }
  const idOf = async (number: number) => (await numbered(number))?.metadata.name ?? ''
  const builds = async () => (await world.server.list(job)).items.map(({ metadata }) => metadata.name)
  const app = async () => (await world.find(PlatformApp.resource, NAME)) as (PlatformApp & KubeObject) | undefined
  const again = (seconds: number) =>
    world.change(PlatformApp, NAME, {
      deploy: { requestedAt: new Date(world.clock.now() + seconds * 1000).toISOString() },
    })

  for (const [who, cancel] of [
    ['through its record', (id: string) => world.change(DeploymentRecord, id, { cancelledAt: '2026-01-01T00:00:00Z' })],
    ['through the spec of its owner', (id: string) => world.change(PlatformApp, NAME, { cancelledDeployment: id })],
  ] as const) {
    it(`${who} ends the running build and lets the next deployment build`, async () => {
      await isBuilt(1)
      const [metadata] = await all().then((records) => records.map(({ metadata }) => metadata))
      const { namespace = '', name = '' } = metadata ?? {}
      expect(await builds()).to.deep.equal([buildName({ namespace, name })])
      await cancel(name)
      await isIn(1, 'Cancelled')
      await world.rest()
      expect(await builds()).to.deep.equal([])
      expect((await app())?.status?.statusMessage).to.equal('Nothing is deployed: deployment 1 was cancelled.')
      await again(1)
      await isIn(2, 'Succeeded')
      expect((await numbered(1))?.status).to.include({ stage: 'Cancelled', lastMessage: 'It was cancelled.' })
    })
  }

  it('keeps the serving image and has no effect on a succeeded deployment', async () => {
    await isIn(1, 'Succeeded')
    const serving = (await app())?.status?.servingImage
    await again(1)
    await isBuilt(2)
    await world.change(PlatformApp, NAME, { cancelledDeployment: await idOf(2) })
    await isIn(2, 'Cancelled')
    await world.rest()
    expect((await app())?.status).to.include({ servingImage: serving, phase: 'Available' })
    await world.change(PlatformApp, NAME, { cancelledDeployment: await idOf(1) })
    await world.rest()
    expect((await numbered(1))?.status?.stage).to.equal('Succeeded')
  })
})
