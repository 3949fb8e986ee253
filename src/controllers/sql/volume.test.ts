import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { persistentVolumeClaim, pod } from '../../kube/builtin.ts'

describe('database and logins of a SqlInstance', () => {
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

  it('are prepared once, and not again after a change without a restart', async () => {
    expect(prepared).to.equal(1)
    await world.change(SqlInstance, 'books', { tags: { team: 'books' } })
    expect(prepared).to.equal(1)
  })

  it('are prepared again on a replaced volume', async () => {
    const before = await claim()
    if (before === undefined) throw new Error('there is no volume')
    await run(false)
    const { name } = before.metadata
    await world.bench.client.remove(persistentVolumeClaim, { namespace: world.home, name })
    await run(true)
    expect((await claim())?.metadata.uid).to.not.equal(before.metadata.uid)
    expect(prepared).to.equal(2)
  })

  // A restarted engine initializes a volume that was emptied, which cannot be seen from outside.
  it('are prepared again after each start of the engine', async () => {
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
