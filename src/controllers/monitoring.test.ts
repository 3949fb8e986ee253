import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { PlatformAlert } from '../crds/monitoring.ts'
import { alertController } from './monitoring.ts'

const DAY = 86_400_000
const ALERT = { alertId: 'disk-7', title: 'A disk is full', level: 2 }

describe('PlatformAlert controller', () => {
  let bench: ControllerBench
  let namespace: string
  const at = (milliseconds: number) => new Date(bench.clock.now() + milliseconds).toISOString()
  const seed = (name: string, spec: object) =>
    bench.seed(PlatformAlert, name, PlatformAlert.spec.parse({ ...ALERT, ...spec }), { namespace })
  const find = (name: string) => bench.find(PlatformAlert.resource, name, namespace)

  beforeEach(() => {
    bench = new ControllerBench([alertController])
    namespace = bench.seedGroup('orders').boundarySpace
  })
  afterEach(() => bench.stop())

  it('writes nothing for 40 days while an alert fires', async () => {
    seed('fires', { told: { times: 3, lastAt: at(-DAY) } })
    await bench.start()
    bench.writes()
    for (let day = 0; day < 40; day += 1) await bench.clock.advance(DAY)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
    expect((await find('fires'))?.status).to.include({ occurrences: 3 })
  })

  it('deletes a resolved alert 30 days after resolvedAt', async () => {
    seed('over', { status: 'Resolved', told: { times: 1, lastAt: at(-DAY), resolvedAt: at(-2 * DAY) } })
    await bench.start()
    for (let day = 0; day < 27; day += 1) await bench.clock.advance(DAY)
    await bench.rest()
    expect(await find('over')).to.not.equal(undefined)
    for (let day = 0; day < 2; day += 1) await bench.clock.advance(DAY)
    await bench.rest()
    expect(await find('over')).to.equal(undefined)
  })

  it('keeps the newest thousand resolved alerts of a boundary, and all that fire', async () => {
    const resolved = (minutes: number) => ({
      status: 'Resolved',
      told: { times: 1, lastAt: at(0), resolvedAt: at(-minutes * 60_000) },
    })
    for (let minutes = 1; minutes <= 1_010; minutes += 1) seed(`over-${minutes}`, resolved(minutes))
    for (let number = 1; number <= 5; number += 1) seed(`fires-${number}`, { told: { times: 1, lastAt: at(-DAY) } })
    await bench.start()
    await bench.rest()
    const { items } = await bench.client.list(PlatformAlert.resource)
    expect(items).to.have.length(1_005)
    const gone = await Promise.all([1_010, 1_001, 1_000, 1].map((minutes) => find(`over-${minutes}`)))
    expect(gone.map((found) => found === undefined)).to.deep.equal([true, true, false, false])
  })
})
