import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { managedIdentityController } from '../managedidentities.ts'

describe('ManagedIdentity of a resource', () => {
  it('is deleted although its resource was deleted before a controller saw both', async () => {
    const world = await new StatefulWorld().start()
    await world.create(ContainerInstance, 'shop', {
      components: [{ name: 'web', image: 'site:1' }],
      managedIdentity: true,
    })
    const { metadata } = (await world.find(ContainerInstance.resource, 'shop')) as KubeObject
    const [identity] = (await world.bench.client.list(ManagedIdentity.resource)).items
    await world.stop()
    expect(identity?.metadata.ownerReferences?.map(({ uid }) => uid)).to.deep.equal([metadata.uid])

    const after = new ControllerBench([managedIdentityController()])
    after.seedGroup('shop')
    after.client.seed(ManagedIdentity.resource, {
      ...(identity as KubeObject),
      metadata: {
        ...(identity as KubeObject).metadata,
        annotations: { ...identity?.metadata.annotations, [INCARNATION_ANNOTATION]: 'life' },
      },
    })
    await after.start()
    expect((await after.client.list(ManagedIdentity.resource)).items).to.deep.equal([])
    await after.stop()
  })
})
