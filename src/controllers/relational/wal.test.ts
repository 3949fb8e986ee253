import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import { type BatchRequest, SqlFault, type SqlTarget } from '../../adapters/sql/port.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'

const TIME = '2026-01-01T00:05:00Z'

describe('WAL of the source before a restore to a time', () => {
  let world: RelationalWorld
  let asked: { host: string; user: string; texts: string[]; isMade: boolean }[]
  let fault: SqlFault | undefined

  beforeEach(async () => {
    asked = []
    fault = undefined
    const run = async ({ host, user }: SqlTarget, { statements }: BatchRequest) => {
      asked.push({ host, user, texts: statements.map(({ text }) => text), isMade: await isMade() })
      if (fault !== undefined) throw fault
      return { results: [], messages: [], failure: undefined }
    }
    world = await new RelationalWorld({ target: TARGET, engine: { run } }).start()
    world.database('orders', { ownerName: 'seller' })
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders')
    await world.completeBackup()
    await world.bench.clock.advance(10 * 60_000)
    await world.change('orders', { tags: { a: 'b' } })
  })
  afterEach(() => world.bench.stop())

  const isMade = async () => (await world.bench.find(postgresqlCluster, 'relc-restored', world.home)) !== undefined
  async function restore(targetTime: string | undefined = TIME): Promise<void> {
    const restoreFrom = { clusterName: 'orders', snapshotId: SNAPSHOT, ...(targetTime && { targetTime }) }
    world.database('restored', { restoreFrom })
    await world.bench.rest()
    expect(await isMade(), JSON.stringify(await world.status('restored'))).to.equal(true)
  }

  it('is completed once by a message and a segment switch in separate transactions', async () => {
    await restore()
    await world.change('restored', { tags: { a: 'b' } })
    expect(asked.map(({ texts, ...rest }) => ({ ...rest, texts: texts.length }))).to.deep.equal(
      [1, 2].map(() => ({ host: `relc-orders-rw.${world.home}.svc`, user: 'seller', texts: 1, isMade: false })),
    )
    expect(asked.map(({ texts }) => texts[0])).to.satisfy(([first, second]: string[]) => {
      return /emit_message\(true, 'freehold', 'restore'\)/.test(first ?? '') && /wal_segment_size/.test(second ?? '')
    })
  })

  it('stays unchanged if the owner cannot connect, and the restore continues', async () => {
    fault = new SqlFault('Unreachable', 'Nobody answers.')
    await restore()
    expect(asked).to.have.length(1)
  })

  const untouched: [sentence: string, prepare: () => Promise<void>, targetTime?: string][] = [
    ['the restore has no targetTime', async () => {}, ''],
    ['the source is stopped', () => world.change('orders', { running: false })],
    ['the source has no ready instance', () => world.play('orders', { readyInstances: 0 })],
    ['connectTo redirects the source', () => world.change('orders', { connectTo: 'orders' })],
  ]
  for (const [sentence, prepare, targetTime] of untouched) {
    it(`stays unchanged if ${sentence}`, async () => {
      await prepare()
      await restore(targetTime)
      expect(asked).to.deep.equal([])
    })
  }
})
