import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { CallQueue, NamespaceCallLimit, type NoSlotError } from './callQueue.ts'

const limits = { concurrency: 1, minReplicas: 0, maxReplicas: 5, idle: 60_000, enabled: true }

describe('CallQueue after close', () => {
  const open = () => {
    const clock = new ManualClock()
    const asked: number[] = []
    const lane = new CallQueue(limits, {
      clock,
      namespaceLimit: new NamespaceCallLimit(50),
      desired: 1,
      onDesiredCopies: (desired) => asked.push(desired),
    })
    lane.update(limits, ['10.0.0.1:8080'])
    return { clock, asked, lane }
  }

  it('sets no timer and requests no copies when its last calls end', async () => {
    const { clock, asked, lane } = open()
    const place = await lane.take(new AbortController().signal)
    lane.close()
    place.release()
    expect(clock.pending).to.equal(0)
    await clock.advance(3_600_000)
    expect(asked).to.deep.equal([])
  })

  it('rejects a new call with the reason gone', async () => {
    const { clock, lane } = open()
    lane.close()
    const refused = await lane.take(new AbortController().signal).catch((error: NoSlotError) => error.why)
    expect([refused, clock.pending]).to.deep.equal(['gone', 0])
  })
})

describe('CallQueue without copies', () => {
  it('rejects a call whose signal was already aborted', async () => {
    const lane = new CallQueue(limits, {
      clock: new ManualClock(),
      namespaceLimit: new NamespaceCallLimit(50),
      desired: 0,
      onDesiredCopies: () => {},
    })
    const taken = lane.take(AbortSignal.abort()).catch((error: NoSlotError) => error.why)
    lane.close()
    expect(await taken).to.equal('late')
  })
})
