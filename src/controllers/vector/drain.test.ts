import { expect } from 'chai'
import { HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import { simulatedEngine } from '../../adapters/qdrant/simulated.ts'
import { persistentVolumeClaim, pod, statefulSet } from '../../kube/builtin.ts'

const HOUR = 60 * 60 * 1000
const volumes = (world: VectorWorld) => world.names(persistentVolumeClaim)
const storage = (...ordinals: number[]) => ordinals.map((ordinal) => `storage-vc-products-${ordinal}`)

describe('scaling down a VectorCluster', () => {
  let world: VectorWorld
  async function begin(over: ConstructorParameters<typeof VectorWorld>[0] = {}): Promise<void> {
    world = new VectorWorld(over)
    await world.start()
    await world.create({ computePlan: 'vector-medium' })
    await world.converge()
    for (const ordinal of [0, 1, 2]) world.engine.join(`vc-products-${ordinal}`, 'vcpeers-products')
  }
  afterEach(() => world.stop())

  it('moves all shards, then removes peers one by one with their volumes', async () => {
    await begin()
    world.engine.fill('docs', 10, [['vc-products-2'], ['vc-products-1'], ['vc-products-0', 'vc-products-2']])
    await world.change({ replicas: 1 })
    const seen: string[] = []
    for (let round = 0; round < 20; round += 1) {
      await world.pass()
      seen.push((await world.says()).replace(/^Updating Draining: /, ''))
      // In each round, each shard has a copy on a running peer.
      const pods = await world.names(pod)
      for (const holders of world.engine.holders('docs'))
        expect(holders.some((name) => pods.includes(name))).to.equal(true)
      await world.play()
    }
    expect(world.engine.holders('docs')).to.deep.equal([['vc-products-0'], ['vc-products-0'], ['vc-products-0']])
    expect(world.engine.orders.map((order) => order.replace(/ .*/, ''))).to.deep.equal([
      'move',
      'drop',
      'remove',
      'move',
      'remove',
    ])
    expect(seen[0]).to.equal(
      'Emptying peer search-0123456789/vc-products-2: shard 0 of collection "docs" is being moved.',
    )
    expect(await volumes(world)).to.deep.equal(storage(0))
    expect(await world.says()).to.match(/^Running Available/)
    expect((await world.cluster()).status?.drainingSince).to.equal(undefined)
  })

  it('waits for a running move every 10 seconds and orders it once', async () => {
    await begin()
    world.engine.settles = false
    world.engine.fill('docs', 10, [['vc-products-2']])
    await world.change({ replicas: 2 })
    for (let round = 0; round < 3; round += 1) {
      expect(await world.pass()).to.deep.equal({ kind: 'settled', after: 10_000 })
      await world.play()
    }
    expect(world.engine.orders).to.have.length(1)
    expect(await world.says()).to.equal(
      'Updating Draining: Emptying peer search-0123456789/vc-products-2: collection "docs": shard 0 is being moved.',
    )
    expect((await world.workload())?.spec.replicas).to.equal(3)
    world.engine.settle()
    await world.converge()
    expect(await volumes(world)).to.deep.equal(storage(0, 1))
  })

  it('removes nothing while a peer is unreachable and gives up after 24 hours until the spec changes', async () => {
    await begin()
    world.engine.fill('docs', 10, [['vc-products-2']])
    const peer = world.engine.peers.get('vc-products-2')
    if (peer !== undefined) peer.reachable = false
    await world.change({ replicas: 2 })
    await world.pass()
    expect(await world.says()).to.match(/^Updating Draining: .*vc-products-2.*does not answer/)
    world.clock.freeze(25 * HOUR)
    await world.pass()
    expect(await world.says()).to.match(/^Degraded EngineRefused: .*within 24 hours.*Nothing was removed/)
    expect((await world.workload())?.spec.replicas).to.equal(3)
    expect(await volumes(world)).to.deep.equal(storage(0, 1, 2))
    await world.change({ replicas: 3 })
    await world.converge()
    expect(await world.says()).to.match(/^Running/)
    if (peer !== undefined) peer.reachable = true
    await world.change({ replicas: 2 })
    await world.converge()
    expect(await volumes(world)).to.deep.equal(storage(0, 1))
  })

  it('applies the rest of the spec meanwhile', async () => {
    await begin()
    world.engine.settles = false
    world.engine.fill('docs', 10, [['vc-products-2']])
    await world.change({ replicas: 2, restartedAt: '2026-11-03T00:00:00Z' })
    await world.pass()
    const annotations = (await world.workload())?.spec.template.metadata.annotations
    expect(annotations?.['freehold.dev/restarted-at']).to.equal('2026-11-03T00:00:00Z')
  })

  it('is cancelled by scaling up, which gives the emptied peer a new volume', async () => {
    await begin()
    await world.change({ replicas: 2 })
    await world.pass()
    const before = (await world.object(persistentVolumeClaim, 'storage-vc-products-2'))?.metadata
    expect(before?.annotations?.['freehold.dev/drained']).to.be.a('string')
    await world.change({ replicas: 3 })
    await world.converge()
    const after = (await world.object(persistentVolumeClaim, 'storage-vc-products-2'))?.metadata
    expect(after?.uid).not.to.equal(before?.uid)
    expect(await world.says()).to.match(/^Running/)
  })

  it('starts all peers after a stop, because each may hold the only copy of a shard', async () => {
    await begin()
    world.engine.fill('docs', 10, [['vc-products-2']])
    await world.change({ running: false })
    await world.converge()
    await world.change({ running: true, replicas: 1 })
    await world.pass()
    expect((await world.workload())?.spec.replicas).to.equal(3)
    await world.converge('products', 30)
    expect(world.engine.holders('docs')).to.deep.equal([['vc-products-0']])
    expect(await volumes(world)).to.deep.equal(storage(0))
  })

  it('keeps a peer that is not a member, because the first peer may have lost its volume', async () => {
    await begin()
    world.engine.fill('docs', 10, [['vc-products-2']])
    const peer = world.engine.peers.get('vc-products-2')
    if (peer !== undefined) peer.member = false
    await world.change({ replicas: 2 })
    await world.converge()
    expect(await world.says()).to.match(/^Updating Draining: .*not a member of the cluster/)
    expect(await volumes(world)).to.deep.equal(storage(0, 1, 2))
  })

  it('restores a StatefulSet that was scaled by hand and keeps the volumes', async () => {
    await begin()
    world.client.edit(statefulSet, { namespace: HOME, name: 'vc-products' }, (object) => {
      Object.assign(object.spec as object, { replicas: 1 })
    })
    await world.play()
    await world.converge()
    expect((await world.workload())?.spec.replicas).to.equal(3)
    expect(await volumes(world)).to.deep.equal(storage(0, 1, 2))
  })

  it('needs no engine with simulated pods', async () => {
    await begin({ engine: simulatedEngine() })
    await world.change({ replicas: 1 })
    await world.converge('products', 30)
    expect(await volumes(world)).to.deep.equal(storage(0))
    expect(await world.says()).to.match(/^Running/)
  })

  it('loses no shard after a crash before or after any write', async () => {
    for (let write = 0, crashed = true; crashed; write += 1) {
      for (const mode of ['before', 'after'] as const) {
        await begin()
        world.engine.fill('docs', 10, [['vc-products-2'], ['vc-products-1', 'vc-products-2']])
        await world.change({ replicas: 1 })
        world.crashAt(write, mode)
        let died = false
        for (let round = 0; round < 24; round += 1) {
          died = (await world.passOrCrash()) || died
          const claims = await volumes(world)
          for (const holders of world.engine.holders('docs')) {
            const kept = holders.filter((name) => claims.includes(`storage-${name}`))
            expect(kept, `write ${write}, ${mode}`).not.to.deep.equal([])
          }
          await world.play()
        }
        expect(await volumes(world), `write ${write}, ${mode}`).to.deep.equal(storage(0))
        expect(await world.says()).to.match(/^Running/)
        crashed = died && crashed
        await world.stop()
      }
      expect(write).to.be.lessThan(40)
    }
    await begin()
  })
})
