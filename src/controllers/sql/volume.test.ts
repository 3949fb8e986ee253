import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { persistentVolumeClaim, pod } from '../../kube/builtin.ts'

describe('the database and the logins of a SQL instance', () => {
  let world: StatefulWorld
  let prepared: number

  beforeEach(async () => {
    prepared = 0
    const prepare = async () => {
      prepared += 1
    }
    world = await new StatefulWorld({ prepare }).start()
    await world.create(SqlInstance, 'books', { acceptEula: true, engine: 'MariaDb' })
  })
  afterEach(() => world.stop())

  const claim = async () => (await world.bench.client.list(persistentVolumeClaim, { namespace: world.home })).items[0]
  const run = async (running: boolean) => world.change(SqlInstance, 'books', { running })

  it('are made once, and not again by a change that starts nothing anew', async () => {
    expect(prepared).to.equal(1)
    await world.change(SqlInstance, 'books', { tags: { team: 'books' } })
    expect(prepared).to.equal(1)
  })

  it('are made again on a volume that was replaced', async () => {
    const before = await claim()
    if (before === undefined) throw new Error('there is no volume')
    await run(false)
    const { name } = before.metadata
    await world.bench.client.remove(persistentVolumeClaim, { namespace: world.home, name })
    await run(true)
    expect((await claim())?.metadata.uid).to.not.equal(before.metadata.uid)
    expect(prepared).to.equal(2)
  })

  // An engine makes a volume that was emptied its own again when it starts, and nobody sees that from outside.
  it('are made again where the engine starts on a volume that may have been emptied', async () => {
    await run(false)
    await run(true)
    expect(prepared, 'another pod').to.equal(2)
    const [one] = (await world.bench.client.list(pod, { namespace: world.home })).items
    await world.edit(pod, one?.metadata.name ?? '', (live) => {
      live.status = { ...(live.status as object), containerStatuses: [{ ready: true, restartCount: 1 }] }
    })
    expect(prepared, 'the same pod').to.equal(3)
  })
})
