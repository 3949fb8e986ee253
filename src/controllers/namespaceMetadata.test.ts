import { expect } from 'chai'
import { TwoClusters } from '../../test/worlds/twoClusters.ts'
import { BOUNDARY_LABEL, LEAVING_LABEL } from '../core/labels.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import { namespace } from '../kube/builtin.ts'
import { boundaryController } from './boundaries.ts'
import { resourceGroupController } from './resourcegroups.ts'

const WANTED = {
  labels: { 'istio-injection': 'disabled', [BOUNDARY_LABEL]: 'of-somebody-else' },
  annotations: { 'example.com/owner': 'platform' },
}

describe('metadata that an administrator wants on namespaces', () => {
  let world: TwoClusters
  beforeEach(async () => {
    const options = { namespaceMetadata: WANTED }
    world = new TwoClusters([boundaryController(options), resourceGroupController(options)], options)
    world.cluster()
    world.project()
    await world.start()
  })
  afterEach(() => world.stop())

  const here = async (name: string) => (await world.bench.find(namespace, name))?.metadata
  const there = async () => (await world.far.get(namespace, { name: world.home })).metadata

  for (const [what, metadataOf] of [
    ['a boundary', () => here(world.outer)],
    ['a group', () => here(world.home)],
    ['a group on another cluster', there],
  ] as const)
    it(`is on the namespace of ${what}, beside what the platform needs`, async () => {
      const { labels, annotations } = (await metadataOf()) ?? {}
      expect(labels).to.include({ 'istio-injection': 'disabled', 'pod-security.kubernetes.io/enforce': 'restricted' })
      expect(annotations).to.include(WANTED.annotations)
      expect(labels?.[BOUNDARY_LABEL]).to.match(/^[0-9a-f-]{36}$/)
    })

  it('stays on the namespace of a group that is being deleted', async () => {
    world.bench.seed(VectorCluster, 'kept', { onDelete: 'Retain' }, { namespace: world.home })
    await world.bench.client.remove(ResourceGroup.resource, { namespace: world.outer, name: 'shop' })
    await world.bench.rest()
    const { labels } = (await here(world.home)) ?? {}
    expect(labels).to.include({ 'istio-injection': 'disabled', [LEAVING_LABEL]: 'true' })
  })
})
