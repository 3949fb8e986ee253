import { expect } from 'chai'
import { ManualClock } from '../../../../test/make/clock.ts'
import type { ActivityStore, ResourcePath } from '../../../adapters/activity/port.ts'
import { silentLog } from '../../../core/log.ts'
import { ActivityRecorder, type ActivityReport } from './recorder.ts'

const [BUSY, QUIET] = ['busy', 'quiet']

describe('ActivityRecorder', () => {
  let clock: ManualClock
  let stored: ResourcePath[]
  let recorder: ActivityRecorder
  let count = 0
  beforeEach(() => {
    clock = new ManualClock()
    stored = []
    const append = async (resource: ResourcePath) => void stored.push(resource)
    recorder = new ActivityRecorder({ store: { append } as unknown as ActivityStore, clock, log: silentLog })
  })
  const note = (boundaryId: string, resourceName: string) =>
    recorder.note({
      resource: { boundaryId, resourceGroup: 'shop', resourceType: 'apps', resourceName },
      observed: { id: `entry-${count++}`, outcome: 'Succeeded', actor: { id: 'someone' } },
    } as unknown as ActivityReport)
  const written = async () => {
    await clock.advance(1_000)
    await recorder.stop()
    return stored
  }

  it('loses no entry of a boundary while another one has more than can wait', async () => {
    for (let at = 0; at < 25_000; at += 1) note(BUSY, `app-${at}`)
    for (let at = 0; at < 100; at += 1) note(QUIET, `app-${at}`)
    const all = await written()
    expect(all.filter(({ boundaryId }) => boundaryId === QUIET)).to.have.length(100)
    expect(all.length).to.be.within(5_000, 20_100)
  })

  it('writes the entries of boundaries in turn', async () => {
    for (let at = 0; at < 50; at += 1) note(BUSY, `app-${at}`)
    note(QUIET, 'app')
    const order = (await written()).map(({ boundaryId }) => boundaryId)
    expect(order.indexOf(QUIET)).to.be.below(4)
  })
})
