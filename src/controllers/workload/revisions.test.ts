import { expect } from 'chai'
import { HOME, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { containerNamesOf } from '../../contracts/containerinstances.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { controllerRevision } from '../../kube/builtin.ts'

const NAME = 'shop'

describe('ControllerRevisions of a resource', () => {
  let world: World
  afterEach(() => world.stop())

  it('start again beside those of a former resource whose deletion was forced', async () => {
    world = new World((all) => all.filter(({ name }) => name === 'containerinstance'))
    seedGroup(world.server)
    const { kind, apiVersion } = ContainerInstance
    const former = containerNamesOf({ kind, metadata: { name: NAME } }).revision(1)
    world.server.seed(controllerRevision, {
      ...{ apiVersion: 'apps/v1', kind: controllerRevision.kind, revision: 1, data: {} },
      metadata: {
        ...{ name: former, namespace: HOME, labels: ownerSelector(kind, NAME) },
        ownerReferences: [{ apiVersion, kind, name: NAME, uid: 'of-a-former-life', controller: true }],
      },
    })
    await world.lead()
    await world.make(ContainerInstance, NAME, { components: [{ name: 'web', image: 'site:1' }] })
    await world.until('it is ready', () => world.isReady(ContainerInstance, NAME))
    const uid = (await world.find(ContainerInstance.resource, NAME))?.metadata.uid
    const [owner] = (await world.find(controllerRevision, former))?.metadata.ownerReferences ?? []
    expect(owner?.uid).to.equal(uid)
  })
})
