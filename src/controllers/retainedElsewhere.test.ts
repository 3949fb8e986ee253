import { expect } from 'chai'
import { FAR, TwoClusters } from '../../test/worlds/twoClusters.ts'
import { RETAINED_FOR_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import { persistentVolumeClaim } from '../kube/builtin.ts'
import { KubeError } from '../kube/errors.ts'
import { resourceGroupController } from './resourcegroups.ts'

const CLAIM = 'storage-vect-search-0'
const HOLDER = `persistentvolumeclaims/${FAR}/${CLAIM}`

describe('retained volume on another cluster', () => {
  let world: TwoClusters
  beforeEach(async () => {
    world = new TwoClusters([resourceGroupController()])
    world.cluster()
    world.project()
    await world.start()
  })
  afterEach(() => world.stop())

  const group = async () =>
    (await world.bench.find(ResourceGroup.resource, 'shop', world.outer)) as (ResourceGroup & KubeObject) | undefined
  const removeGroup = async () => {
    await world.bench.client.remove(ResourceGroup.resource, { namespace: world.outer, name: 'shop' })
    await world.bench.rest()
  }
  const keep = async () => {
    world.volume({ [RETAINED_FOR_ANNOTATION]: 'VectorCluster/search' })
    await world.bench.rest()
  }
  const ref = () => ({ namespace: world.home, name: CLAIM })
  /** It ends when the volume is deleted there, or a new resource of the same name adopts it. */
  const endings: [string, () => Promise<unknown>][] = [
    ['it is deleted there', () => world.far.remove(persistentVolumeClaim, ref())],
    [
      'a resource adopts it',
      () =>
        world.far.mergePatch(persistentVolumeClaim, ref(), {
          metadata: { annotations: { [RETAINED_FOR_ANNOTATION]: null } },
        }),
    ],
  ]

  it('is listed in the status of the projection, unlike other volumes', async () => {
    world.volume()
    await world.bench.rest()
    expect(await world.says(BoundaryProjection)).to.not.have.nested.property('resolvedNamespaces[0].retainedVolumes')
    expect((await group())?.status?.heldBy).to.deep.equal([])
    await keep()
    expect(await world.says(BoundaryProjection)).to.deep.nested.include({
      'resolvedNamespaces[0].state': 'Applied',
      'resolvedNamespaces[0].retainedVolumes': [CLAIM],
    })
  })

  for (const [ending, end] of endings) {
    it(`is listed in heldBy of its group until ${ending}`, async () => {
      await keep()
      expect((await group())?.status?.heldBy).to.deep.equal([HOLDER])
      await end()
      await world.bench.rest()
      expect((await group())?.status?.heldBy).to.deep.equal([])
    })

    it(`blocks the deletion of its group until ${ending}`, async () => {
      await keep()
      await removeGroup()
      const { status } = (await group()) ?? {}
      expect(status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
      expect(status?.statusMessage).to.contain(HOLDER)
      expect(await world.namespaces()).to.deep.equal([world.home])
      await end()
      await world.bench.rest()
      expect(await group()).to.equal(undefined)
      expect(await world.namespaces()).to.deep.equal([])
    })
  }

  it('survives the deletion of its group that did not know of it, and drifts the projection', async () => {
    world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
    let isLate = true
    const failing = () => {
      if (isLate) throw new KubeError('Unavailable', 'The API server is away for this one.', { status: 503 })
    }
    world.bench.client.fail('patch', BoundaryProjection.resource, failing, Number.POSITIVE_INFINITY)
    await keep()
    await removeGroup()
    expect(await group(), 'nothing was known to hold it').to.equal(undefined)
    isLate = false
    await world.bench.clock.advance(60_000)
    await world.bench.rest()
    expect(await world.namespaces()).to.deep.equal([world.home])
    expect((await world.far.get(persistentVolumeClaim, ref())).metadata).to.not.have.property('deletionTimestamp')
    const { resolvedNamespaces } = (await world.says(BoundaryProjection)) as BoundaryProjection['status'] & object
    expect(resolvedNamespaces).to.deep.equal([
      {
        ...{ namespace: world.home, state: 'Drifted', retainedVolumes: [CLAIM] },
        message: `It is still used by ${world.home}/persistentvolumeclaims/${CLAIM}.`,
      },
    ])
    await world.far.remove(persistentVolumeClaim, ref())
    await world.bench.rest()
    expect(await world.namespaces()).to.deep.equal([])
  })
})
