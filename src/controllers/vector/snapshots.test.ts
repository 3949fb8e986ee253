import { expect } from 'chai'
import { VectorWorld } from '../../../test/worlds/vectorWorld.ts'

describe('snapshots of a VectorCluster', () => {
  let world: VectorWorld
  beforeEach(async () => {
    world = new VectorWorld()
    await world.start()
    await world.create({ computePlan: 'vector-medium' })
    await world.converge()
    for (const ordinal of [0, 1, 2]) world.engine.join(`vc-products-${ordinal}`, 'vcpeers-products')
    world.engine.fill('docs', 10, [['vc-products-0'], ['vc-products-1', 'vc-products-2']])
  })
  afterEach(() => world.stop())

  const passes = async (count = 30) => {
    for (let pass = 0; pass < count; pass += 1) await world.pass()
    return (await world.cluster()).status?.snapshots
  }
  const PLACES = [0, 1, 2].map((ordinal) => `vc-products-${ordinal}/docs`)

  it('store one file of each collection at each peer, ordered once, while the database is Running', async () => {
    await world.change({ snapshots: [{ name: 'first' }] })
    const [taken] = (await passes()) ?? []
    expect(taken).to.include({ name: 'first' }).and.to.have.property('completedAt')
    expect(taken?.files.map(({ peer, collection }) => `${peer}/${collection}`)).to.deep.equal(PLACES)
    expect(world.engine.orders).to.have.length(3)
    expect(await world.says()).to.match(/^Running Available/)
    expect(await world.pass()).to.deep.equal({ kind: 'settled', after: undefined })
  })

  it('are awaited while the engine takes them', async () => {
    world.engine.settles = false
    await world.change({ snapshots: [{ name: 'first' }] })
    const [taken] = (await passes()) ?? []
    expect([taken?.files.length, taken?.completedAt, world.engine.orders.length]).to.deep.equal([0, undefined, 1])
    expect(await world.pass()).to.deep.equal({ kind: 'settled', after: 5_000 })
  })

  it('are deleted with their files when they are removed from the spec, but no others', async () => {
    await world.engine.takeSnapshot({ namespace: '', pod: 'vc-products-0', service: '', keys: [] }, 'docs')
    await world.change({ snapshots: [{ name: 'first' }, { name: 'second' }] })
    await passes(60)
    expect(world.engine.stored).to.have.length(7)
    await world.change({ snapshots: [{ name: 'second' }] })
    expect((await passes())?.map(({ name }) => name)).to.deep.equal(['second'])
    await world.change({ snapshots: [] })
    expect(await passes()).to.equal(undefined)
    expect(world.engine.stored).to.deep.equal(['vc-products-0/docs'])
  })

  it('wait for an unreachable peer and report a failure of the engine', async () => {
    const peer = world.engine.peers.get('vc-products-1')
    if (peer !== undefined) peer.reachable = false
    await world.change({ snapshots: [{ name: 'first' }] })
    await passes()
    expect(await world.pass()).to.deep.equal({ kind: 'settled', after: 30_000 })
    if (peer !== undefined) peer.reachable = true
    world.engine.takeSnapshot = async () => {
      const { EngineError } = await import('../../adapters/qdrant/port.ts')
      throw new EngineError('Refused', 'The volume is full.', 500)
    }
    const [taken] = (await passes()) ?? []
    expect(taken?.failure).to.equal('The engine refused the snapshot of collection "docs" at peer vc-products-1.')
  })

  it('are not taken while the database is stopped', async () => {
    await world.change({ running: false, snapshots: [{ name: 'first' }] })
    for (let round = 0; round < 5; round += 1) await world.converge()
    expect(world.engine.orders).to.deep.equal([])
    expect((await world.cluster()).status?.snapshots).to.deep.equal([{ name: 'first', files: [] }])
    await world.change({ running: false, snapshots: [{ name: 'second' }] })
    await world.converge()
    expect((await world.cluster()).status?.snapshots).to.deep.equal([{ name: 'second', files: [] }])
  })
})
