import { once } from 'node:events'
import { expect } from 'chai'
import { ManualClock } from '../../../../test/make/clock.ts'
import { codeOf } from '../../../../test/worlds/facade.ts'
import { noMetrics } from '../metrics.ts'
import type { Followed } from './followedList.ts'
import type { ListEntry } from './listState.ts'
import { OF_PRINCIPAL, OF_PROCESS, OpenStreams } from './openStreams.ts'

const followed = (entries: readonly ListEntry[] = []): Followed => ({
  read: async () => entries,
  ask: async () => {},
  turn: () => undefined,
  spend: () => {},
  refusalOf: () => '{}',
  lastEventId: undefined,
  signal: new AbortController().signal,
  cut: () => {},
})

describe('the lists that a process has open', () => {
  it('are so many at most, of all callers together, and one that ends makes room', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics)
    const first = await streams.open('first', followed())
    for (let count = 1; count < OF_PROCESS; count += 1)
      await streams.open(`caller ${count % Math.ceil(OF_PROCESS / OF_PRINCIPAL + 1)}`, followed())
    expect((await codeOf(streams.open('another', followed()))).code).to.equal('SERVICE_UNAVAILABLE')
    if (first.stream === undefined) throw new Error('There is no stream.')
    first.stream.destroy()
    await once(first.stream, 'close')
    expect((await codeOf(streams.open('another', followed()))).code).to.equal('none')
  })

  it('remember so many records at most', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics, 6)
    const three = followed(['one', 'two', 'three'].map((name) => ({ id: name, name, text: '' })))
    const first = await streams.open('first', three)
    await streams.open('second', three)
    expect((await codeOf(streams.open('third', three))).code).to.equal('SERVICE_UNAVAILABLE')
    if (first.stream === undefined) throw new Error('There is no stream.')
    first.stream.destroy()
    await once(first.stream, 'close')
    expect((await codeOf(streams.open('third', three))).code).to.equal('none')
  })

  it('take no place where the first look fails', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics)
    const failing = { ...followed(), read: () => Promise.reject(new Error('away')) }
    for (let count = 0; count <= OF_PRINCIPAL; count += 1) {
      const error = await streams.open('caller', failing).catch((thrown: Error) => thrown)
      expect((error as Error).message).to.equal('away')
    }
  })
})
