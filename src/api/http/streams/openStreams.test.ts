import { once } from 'node:events'
import { expect } from 'chai'
import { ManualClock } from '../../../../test/make/clock.ts'
import { codeOf } from '../../../../test/worlds/facade.ts'
import { CacheReadTrackers } from '../../../core/readTrackers.ts'
import { noMetrics } from '../metrics.ts'
import type { ListSubscription } from './followedList.ts'
import type { ListEntry } from './listState.ts'
import { MAX_STREAMS_PER_PRINCIPAL, MAX_STREAMS_PER_PROCESS, OpenStreams } from './openStreams.ts'

const followed = (entries: readonly ListEntry[] = []): ListSubscription => ({
  read: async () => entries,
  ask: async () => {},
  turn: () => undefined,
  spend: () => {},
  refusalOf: () => '{}',
  lastEventId: undefined,
  signal: new AbortController().signal,
  cut: () => {},
})

describe('OpenStreams', () => {
  const of = (principal: string, scope = 'a boundary') => ({ principal, scope })

  it('leaves as many streams for other boundaries as one boundary has', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics)
    const first = await streams.open(of('first'), followed())
    const more = async (count: number, scope: string) => {
      for (let index = 0; index < count; index += 1)
        await streams.open(of(`${scope} ${Math.floor(index / MAX_STREAMS_PER_PRINCIPAL)}`, scope), followed())
    }
    await more(MAX_STREAMS_PER_PROCESS / 2 - 1, 'a boundary')
    const another = async () => (await codeOf(streams.open(of('another'), followed()))).code
    expect(await another()).to.equal('SERVICE_UNAVAILABLE')
    await more(MAX_STREAMS_PER_PROCESS / 4, 'another boundary')
    if (first.stream === undefined) throw new Error('There is no stream.')
    first.stream.destroy()
    await once(first.stream, 'close')
    expect(await another()).to.equal('SERVICE_UNAVAILABLE')
    expect((await codeOf(streams.open(of('third', 'a third'), followed()))).code).to.equal('none')
  })

  it('allows a new stream of a principal once one ends', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics)
    const opened = await Promise.all(
      Array.from({ length: MAX_STREAMS_PER_PRINCIPAL }, () => streams.open(of('caller'), followed())),
    )
    const next = async () => (await codeOf(streams.open(of('caller'), followed()))).code
    expect(await next()).to.equal('TOO_MANY_REQUESTS')
    const stream = opened[0]?.stream
    stream?.destroy()
    if (stream !== undefined) await once(stream, 'close')
    expect(await next()).to.equal('none')
  })

  it('refuses a stream above the limit of remembered entries', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics, 13)
    const three = followed(['one', 'two', 'three'].map((name) => ({ id: name, name, text: '' })))
    const first = await streams.open(of('first'), three)
    await streams.open(of('second'), three)
    expect((await codeOf(streams.open(of('third'), three))).code).to.equal('SERVICE_UNAVAILABLE')
    if (first.stream === undefined) throw new Error('There is no stream.')
    first.stream.destroy()
    await once(first.stream, 'close')
    expect((await codeOf(streams.open(of('third'), three))).code).to.equal('none')
  })

  it('leaves as many remembered entries for other boundaries as one boundary has', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics, 16)
    const three = followed(['one', 'two', 'three'].map((name) => ({ id: name, name, text: '' })))
    const codeAt = async (scope: string) => (await codeOf(streams.open(of('a caller', scope), three))).code
    for (const left of ['none', 'none', 'SERVICE_UNAVAILABLE']) expect(await codeAt('a boundary')).to.equal(left)
    for (const left of ['none', 'SERVICE_UNAVAILABLE']) expect(await codeAt('another boundary')).to.equal(left)
    expect(await codeAt('a third')).to.equal('none')
  })

  it('counts tracked reads like remembered entries', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics, 20)
    const readers = new CacheReadTrackers()
    const read = async () => {
      for (let at = 0; at < 9; at += 1) readers.note('home', String(at))
      return []
    }
    const reading = { ...followed(), read }
    const first = await streams.open(of('first'), reading)
    expect((await codeOf(streams.open(of('second'), reading))).code).to.equal('SERVICE_UNAVAILABLE')
    first.stream?.destroy()
    if (first.stream !== undefined) await once(first.stream, 'close')
    expect((await codeOf(streams.open(of('second'), reading))).code).to.equal('none')
  })

  it('keeps the limit of remembered entries when many streams open at once', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics, 13)
    const three = followed(['one', 'two', 'three'].map((name) => ({ id: name, name, text: '' })))
    const codes = await Promise.all(Array.from({ length: 4 }, () => codeOf(streams.open(of('a caller'), three))))
    expect(codes.map(({ code }) => code).filter((code) => code === 'none')).to.have.length(2)
    expect((await codeOf(streams.open(of('a caller', 'another'), three))).code).to.equal('none')
  })

  it('counts no stream whose first read fails', async () => {
    const streams = new OpenStreams(new ManualClock(), noMetrics)
    const failing = { ...followed(), read: () => Promise.reject(new Error('away')) }
    for (let count = 0; count <= MAX_STREAMS_PER_PRINCIPAL; count += 1) {
      const error = await streams.open(of('caller'), failing).catch((thrown: Error) => thrown)
      expect((error as Error).message).to.equal('away')
    }
  })
})
