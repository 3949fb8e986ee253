import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { deployment } from '../../kube/builtin.ts'

const NAME = 'docs'
const SECOND = 1_000
type Made = KubeObject & { spec?: { replicas?: number; selector?: { matchLabels?: Record<string, string> } } }

describe('a StaticWebApp that kubectl scales', () => {
  it('reports the selector of its pods, and runs as many as are wanted', async () => {
    const world = new World((all) => all.filter(({ name }) => ['staticwebapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(StaticWebApp, NAME, { image: 'registry.example.com/docs:1', replicas: 1 })
    await world.rest()
    await world.change(StaticWebApp, NAME, { replicas: 2 })
    await world.rest()
    const [site] = (await world.server.list<StaticWebApp & KubeObject>(StaticWebApp.resource)).items
    const [made] = (await world.server.list<Made>(deployment)).items
    const { matchLabels } = made?.spec?.selector ?? {}
    const pods = Object.entries(matchLabels ?? {}).map(([name, value]) => `${name}=${value}`)
    expect(pods).to.include.members(site?.status?.selector?.split(',') ?? [])
    expect([made?.spec?.replicas, site?.status?.readyReplicas]).to.deep.equal([2, 2])
    await world.stop()
  })
})

/** The clock starts at a full second and does not advance between two passes. */
describe('requestedAt of a StaticWebApp deployment', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['staticwebapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(StaticWebApp, NAME, { repositoryUrl: 'https://git.example.com/team/docs' })
    await world.rest()
    expect(await count()).to.equal(1)
  })
  afterEach(() => world.stop())

  const at = (seconds: number) => new Date(world.clock.now() + seconds * SECOND).toISOString()
  const request = async (requestedAt: string) => {
    await world.change(StaticWebApp, NAME, { deploy: { requestedAt } })
    await world.rest()
  }
  const count = async () =>
    (await world.server.list<DeploymentRecord & KubeObject>(DeploymentRecord.resource)).items.length

  it('creates one deployment for each later time', async () => {
    await request(at(1))
    expect(await count()).to.equal(2)
    await world.change(StaticWebApp, NAME, { headers: { 'X-A': 'b' } })
    await world.rest()
    expect(await count()).to.equal(2)
    await request(at(2))
    expect(await count()).to.equal(3)
  })

  it('creates a deployment in the second of the previous one', async () => {
    await request(at(0))
    expect(await count()).to.equal(2)
  })

  it('creates a deployment although another one was created after that time', async () => {
    await request(at(1))
    await world.pass(5 * SECOND)
    await world.change(StaticWebApp, NAME, { branch: 'next' })
    await world.rest()
    expect(await count()).to.equal(3)
    await request(at(-2))
    expect(await count()).to.equal(4)
  })

  it('creates none for a time before the previous request or the first deployment', async () => {
    await request(at(-5))
    expect(await count()).to.equal(1)
    await request(at(5))
    await request(at(3))
    expect(await count()).to.equal(2)
  })

  it('creates none again after the deployment is deleted, even for a future time', async () => {
    await request('2099-01-01T00:00:00Z')
    expect(await count()).to.equal(2)
    for (const { metadata } of (await world.server.list(DeploymentRecord.resource)).items)
      await world.server.remove(DeploymentRecord.resource, metadata)
    await world.rest()
    expect(await count()).to.equal(0)
  })
})
