import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import { RESTORE_ANNOTATION } from '../../core/labels.ts'
import { objectKey } from '../../core/object.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'

describe('deletion of a snapshot that a database in another group restores', () => {
  let world: RelationalWorld
  beforeEach(async () => {
    world = await new RelationalWorld({ target: TARGET }).start()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders', { forceDelete: true })
    await world.completeBackup()
  })
  afterEach(() => world.bench.stop())

  const restore = async (spec: object, annotations: (home: string) => Record<string, string>) => {
    const other = world.bench.seedGroup('other').groupSpace
    const restoreFrom = { clusterName: 'orders', snapshotId: SNAPSHOT, ...spec }
    world.bench.seed(RelationalCluster, 'copy', RelationalCluster.spec.parse({ restoreFrom }), {
      namespace: other,
      annotations: annotations(world.home),
    })
    await world.bench.rest()
    await world.bench.client.remove(RelationalSnapshot.resource, { namespace: world.home, name: SNAPSHOT })
    await world.bench.rest()
    return (await world.bench.find(RelationalSnapshot.resource, SNAPSHOT, world.home))?.status
  }

  for (const spec of [{}, { resourceGroup: 'shop' }])
    it(`is not blocked by an unapproved database with ${JSON.stringify(spec)}`, async () => {
      expect(await restore(spec, () => ({}))).to.equal(undefined)
    })

  it('is blocked by an approved database until it has its data', async () => {
    const approved = (home: string) => ({ [RESTORE_ANNOTATION]: objectKey(home, SNAPSHOT) })
    expect(await restore({ resourceGroup: 'shop' }, approved)).to.include({ phase: 'DeletionBlocked' })
  })
})
