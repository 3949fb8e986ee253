import { expect } from 'chai'
import { HOME, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { containerNamesOf } from '../../contracts/containerinstances.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import type { KubeObject } from '../../core/object.ts'
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

  it('are continued after a restore, which changes every uid and drops owner references', async () => {
    world = new World((all) => all.filter(({ name }) => name === 'containerinstance'))
    seedGroup(world.server)
    await world.lead()
    await world.make(ContainerInstance, NAME, { components: [{ name: 'web', image: 'site:1' }] })
    await world.until('it is ready', () => world.isReady(ContainerInstance, NAME))
    const stored = async () => (await world.server.list(controllerRevision)).items
    const uid = 'after-the-restore'
    for (const { metadata } of await stored())
      world.server.edit(controllerRevision, metadata, (one) => {
        one.metadata.ownerReferences = []
      })
    world.server.edit(ContainerInstance.resource, { namespace: HOME, name: NAME }, (one) => {
      one.metadata.uid = uid
    })
    await world.change(ContainerInstance, NAME, { components: [{ name: 'web', image: 'site:2' }] })
    await world.until('the change is recorded', async () => (await stored()).length === 2)
    await world.rest()
    const found = (await world.find(ContainerInstance.resource, NAME)) as ContainerInstance & KubeObject
    expect(found.metadata.uid).to.equal(uid)
    expect(found.status?.revision).to.equal(2)
    await world.remove(ContainerInstance, NAME)
    await world.until('they are deleted with it', async () => (await stored()).length === 0)
  })
})
