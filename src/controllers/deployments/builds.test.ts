import { expect } from 'chai'
import { BOUNDARY_ID, GROUP, HOME, OUTER, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { blobBuildLogs } from '../../adapters/buildlogs/client.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const NAME = 'shop'
const SOURCE = '5d2f8a52-7a4e-4b52-9a55-0d6c8f3f9b02'
const ELSEWHERE = '6e2f8a52-7a4e-4b52-9a55-0d6c8f3f9b03'
const repositoryUrl = 'https://git.nobody.example/acme/shop.git'
const MINUTE = 60_000
const told = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Reported', phase: 'Building' }

describe('builds of deployments', () => {
  let world: World
  afterEach(() => world.stop())

  it('succeeds although its log was already final', async () => {
    world = new World((all) => all.filter(({ name }) => ['platformapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    const logs = blobBuildLogs(world.engines.blobs)
    await world.lead()
    await world.make(PlatformApp, NAME, { sourceKind: 'Upload' })
    const code = { archive: `${BOUNDARY_ID}/${GROUP}/apps/${NAME}@sha256:${'0'.repeat(64)}` }
    const [apiVersion, kind] = [DeploymentRecord.apiVersion, DeploymentRecord.kind]
    const logged = { apiVersion, kind, namespace: HOME, name: ELSEWHERE, uid: 'uid' }
    await logs.append(logged, [], { offset: 0, isFinal: true })
    await world.make(DeploymentRecord, ELSEWHERE, { ...told, strategy: 'Build', phase: undefined, ...code })
    await world.until('it is served', async () => {
      const found = await world.find(DeploymentRecord.resource, ELSEWHERE)
      return (found?.status as { stage?: string } | undefined)?.stage === 'Succeeded'
    })
  })

  it('retries a build that waited in the queue for 10 minutes while the provider does not answer', async () => {
    world = new World((all) => all.filter(({ name }) => ['platformapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    const baseUrl = 'https://git.nobody.example'
    await world.make(DeploymentSource, SOURCE, { provider: 'GitHub', displayName: 'Acme', baseUrl }, OUTER)
    await world.make(PlatformApp, NAME, { sourceKind: 'Repository', repositoryUrl })
    await world.rest()
    await world.make(DeploymentRecord, ELSEWHERE, told)
    await world.rest()
    await world.change(PlatformApp, NAME, { deploymentSourceId: SOURCE })
    const newest = async () =>
      (await world.server.list<DeploymentRecord & { metadata: { name: string } }>(DeploymentRecord.resource)).items
        .map(({ status }) => status)
        .find((status) => status?.number === 3)
    await world.pass(20 * MINUTE)
    expect(await newest()).to.include({ stage: 'Queued', lastMessage: 'An earlier build is still under way.' })
    await world.change(DeploymentRecord, ELSEWHERE, { phase: 'Failed' })
    await world.rest()
    expect(await newest()).to.include({ stage: 'Queued', lastMessage: 'The provider does not answer.' })
    await world.pass(9 * MINUTE)
    expect(await newest()).to.include({ stage: 'Queued' })
    await world.pass(2 * MINUTE)
    expect(await newest()).to.include({ stage: 'Failed', lastMessage: 'The provider does not answer.' })
  })
})
