import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'

const NAME = 'docs'
const SECOND = 1_000

/** The clock of such a world begins at a whole second, and stands still between two passes. */
describe('a deployment that is requested in the spec of a static web app', () => {
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

  it('is made once for each later time', async () => {
    await request(at(1))
    expect(await count()).to.equal(2)
    await world.change(StaticWebApp, NAME, { headers: { 'X-A': 'b' } })
    await world.rest()
    expect(await count()).to.equal(2)
    await request(at(2))
    expect(await count()).to.equal(3)
  })

  it('is made also in the second in which the newest one was', async () => {
    await request(at(0))
    expect(await count()).to.equal(2)
  })

  it('is made also where something else was deployed since', async () => {
    await request(at(1))
    await world.pass(5 * SECOND)
    await world.change(StaticWebApp, NAME, { branch: 'next' })
    await world.rest()
    expect(await count()).to.equal(3)
    await request(at(-2))
    expect(await count()).to.equal(4)
  })

  it('is not made of a time that goes back, nor of one that is older than the first deployment', async () => {
    await request(at(-5))
    expect(await count()).to.equal(1)
    await request(at(5))
    await request(at(3))
    expect(await count()).to.equal(2)
  })

  it('is not made again when it is kept no longer, however late its time is', async () => {
    await request('2099-01-01T00:00:00Z')
    expect(await count()).to.equal(2)
    for (const { metadata } of (await world.server.list(DeploymentRecord.resource)).items)
      await world.server.remove(DeploymentRecord.resource, metadata)
    await world.rest()
    expect(await count()).to.equal(0)
  })
})
