import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { systemClock } from '../../core/clock.ts'
import { FakePodLogs } from './fake.ts'
import { followedPodLogs } from './followed.ts'
import type { LogSource, PodLogs } from './port.ts'

const SOURCE: LogSource = { namespace: 'a', pod: 'b', container: 'c' }
/** Lines with increasing times. */
let count = 0
const line = (text: string) => `${new Date(Date.UTC(2026, 0, 1) + ++count).toISOString()} ${text}\n`

describe('followedPodLogs', () => {
  let logs: FakePodLogs
  let isAlive: boolean
  let stop: AbortController
  const failures: PodLogs['open'][] = []
  beforeEach(() => {
    logs = new FakePodLogs()
    isAlive = true
    stop = new AbortController()
    failures.length = 0
  })
  afterEach(() => stop.abort())

  const followed = () => {
    const open: PodLogs['open'] = (source, window) =>
      (window?.follow === true ? failures.shift() : undefined)?.(source, window) ?? logs.open(source, window)
    // Shortens the delays, which the tests are not about.
    const setTimeout = (task: () => void) => systemClock.setTimeout(task, 1)
    return followedPodLogs({ open }, { clock: { ...systemClock, setTimeout }, isAlive: () => isAlive })
  }
  /** Follows the log and collects its lines. */
  const follow = (from: ReturnType<typeof followed>, tailLines = 500, signal = stop.signal) => {
    const texts: string[] = []
    const ended = (async () => {
      for await (const lines of from.follow(SOURCE, { tailLines, signal })) texts.push(...lines.map(({ text }) => text))
    })()
    ended.catch(() => {})
    return { texts, ended }
  }
  const shows = (texts: readonly string[], expected: readonly string[]) =>
    until(`${expected.join()} is there`, () => texts.length >= expected.length).then(() =>
      expect(texts).to.deep.equal(expected),
    )

  it('yields the last lines and then each new line once', async () => {
    logs.write(SOURCE, line('one') + line('two'))
    const { texts } = follow(followed(), 1)
    await shows(texts, ['two'])
    logs.write(SOURCE, line('three'))
    await shows(texts, ['two', 'three'])
    logs.write(SOURCE, `${line('four')}${line('five')}`)
    await shows(texts, ['two', 'three', 'four', 'five'])
  })

  it('shares one stream among 100 followers, and yields earlier lines to later ones', async () => {
    logs.write(SOURCE, line('one'))
    const from = followed()
    const first = Array.from({ length: 50 }, () => follow(from))
    await Promise.all(first.map(({ texts }) => shows(texts, ['one'])))
    logs.write(SOURCE, line('two'))
    await Promise.all(first.map(({ texts }) => shows(texts, ['one', 'two'])))
    const late = Array.from({ length: 50 }, () => follow(from))
    await Promise.all(late.map(({ texts }) => shows(texts, ['one', 'two'])))
    logs.write(SOURCE, line('three'))
    await Promise.all([...first, ...late].map(({ texts }) => shows(texts, ['one', 'two', 'three'])))
    // One request for the end of the log, and one for the stream.
    expect([logs.following, logs.opened]).to.deep.equal([1, 2])
    stop.abort()
    await Promise.all([...first, ...late].map(({ ended }) => ended))
    await until('the stream of the node has ended', () => logs.following === 0)
  })

  it('yields more earlier lines than it has cached, without gaps or repeats', async () => {
    for (let at = 0; at < 30; at += 1) logs.write(SOURCE, line(`old ${at}`))
    const from = followed()
    const short = follow(from, 1)
    await shows(short.texts, ['old 29'])
    logs.write(SOURCE, line('new'))
    await shows(short.texts, ['old 29', 'new'])
    const long = follow(from, 3)
    await shows(long.texts, ['old 28', 'old 29', 'new'])
    logs.write(SOURCE, line('newest'))
    await shows(long.texts, ['old 28', 'old 29', 'new', 'newest'])
    expect(logs.following).to.equal(1)
  })

  it('asks the node for no more lines than necessary, and misses none that were written meanwhile', async () => {
    logs.write(SOURCE, line('one'))
    const tails: (number | undefined)[] = []
    // Lines written between the two requests; a tail request then returns only the last two of them.
    const between: string[] = []
    const open: PodLogs['open'] = async (source, window = {}) => {
      if (window.follow !== true) return logs.open(source, window)
      tails.push(window.tailLines)
      for (const text of between.splice(0)) logs.write(SOURCE, line(text))
      return logs.open(source, { ...window, ...(window.tailLines !== undefined && { tailLines: 2 }) })
    }
    const from = () => followedPodLogs({ open }, { clock: systemClock, isAlive: () => isAlive })
    const { texts } = follow(from())
    logs.write(SOURCE, line('two'))
    await shows(texts, ['one', 'two'])
    expect(tails).to.deep.equal([2_000])
    between.push('three', 'four', 'five')
    const late = follow(from())
    await shows(late.texts, ['one', 'two', 'three', 'four', 'five'])
    expect(tails).to.deep.equal([2_000, 2_000, 20_000, 200_000, undefined])
  })

  it('yields only new lines if no earlier ones are requested', async () => {
    logs.write(SOURCE, line('old'))
    const { texts } = follow(followed(), 0)
    await until('it is followed', () => logs.following === 1)
    logs.write(SOURCE, line('new'))
    await shows(texts, ['new'])
  })

  it('ends with the pod', async () => {
    logs.write(SOURCE, line('one'))
    const { texts, ended } = follow(followed())
    await shows(texts, ['one'])
    isAlive = false
    logs.write(SOURCE, line('last'))
    logs.end(SOURCE)
    await ended
    expect(texts).to.deep.equal(['one', 'last'])
  })

  it('ends at once if the pod does not exist', async () => {
    isAlive = false
    const { texts, ended } = follow(followed())
    await ended
    expect(texts).to.deep.equal([])
  })

  it('waits for a container to start, and continues after it restarts', async () => {
    const { texts } = follow(followed())
    await until('it was asked for', () => logs.opened > 2)
    logs.write(SOURCE, line('first run'))
    await shows(texts, ['first run'])
    logs.end(SOURCE)
    logs.write(SOURCE, line('second run'))
    await shows(texts, ['first run', 'second run'])
  })

  it('adds no listeners with each attempt to open a log', async () => {
    const signals: AbortSignal[] = []
    const open: PodLogs['open'] = async (_source, window) => {
      if (window?.follow === true && window.signal !== undefined) signals.push(window.signal)
      return undefined
    }
    const clock = { ...systemClock, setTimeout: (task: () => void) => systemClock.setTimeout(task, 0) }
    follow(followedPodLogs({ open }, { clock, isAlive: () => true }))
    await until('it was asked often', () => signals.length > 20)
    expect(getEventListeners(signals[0] as AbortSignal, 'abort').length).to.be.at.most(2)
  })

  it('reconnects after a lost connection without gaps or repeats', async () => {
    failures.push(async (source, window) => {
      const chunks = await logs.open(source, window)
      return (async function* () {
        for await (const chunk of chunks ?? []) {
          yield chunk
          if (Buffer.from(chunk).includes('two')) throw new Error('lost')
        }
      })()
    })
    const { texts } = follow(followed())
    logs.write(SOURCE, line('one') + line('two'))
    await until('it is there', () => texts.includes('two'))
    logs.write(SOURCE, line('three'))
    await shows(texts, ['one', 'two', 'three'])
  })

  it('throws if the node does not answer after several attempts', async () => {
    logs.write(SOURCE, line('one'))
    for (let time = 0; time < 5; time += 1) failures.push(() => Promise.reject(new Error('no answer')))
    const { ended } = follow(followed())
    const error = await ended.catch((caught: Error) => caught)
    expect((error as Error).message).to.equal('no answer')
  })

  it('ends each follower by its own signal, and the stream with the last one', async () => {
    logs.write(SOURCE, line('one'))
    const from = followed()
    const [own, other] = [new AbortController(), new AbortController()]
    const [a, b] = [follow(from, 1, own.signal), follow(from, 1, other.signal)]
    await Promise.all([shows(a.texts, ['one']), shows(b.texts, ['one'])])
    own.abort()
    await a.ended
    expect(logs.following).to.equal(1)
    logs.write(SOURCE, line('two'))
    await shows(b.texts, ['one', 'two'])
    other.abort()
    await b.ended
    await until('the stream of the node has ended', () => logs.following === 0)
  })
})

describe('followedPodLogs, for a slow follower', () => {
  const megabyte = line('x'.repeat(1024)).repeat(1024)
  /** A node that writes as fast as its log is read. */
  const endless = () => {
    const node = { chunks: 0 }
    const open: PodLogs['open'] = async (_source, { follow, signal } = {}) =>
      (async function* () {
        while (follow === true && signal?.aborted !== true) {
          node.chunks += 1
          yield Buffer.from(megabyte.slice(0, 64 * 1024))
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
    return { node, from: followedPodLogs({ open }, { clock: systemClock, isAlive: () => true }) }
  }
  const turns = async (many: number) => {
    for (let turn = 0; turn < many; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  it('applies back-pressure to the node if it is the only follower', async () => {
    const { node, from } = endless()
    const stop = new AbortController()
    const reader = from.follow(SOURCE, { tailLines: 0, signal: stop.signal })
    await reader.next()
    await until('the node waits', async () => {
      const before = node.chunks
      await turns(200)
      return before > 0 && node.chunks === before
    })
    expect(node.chunks).to.be.below(20)
    const before = node.chunks
    for (let batch = 0; batch < 10; batch += 1) await reader.next()
    await until('the node goes on', () => node.chunks > before)
    stop.abort()
    await reader.return(undefined)
  })

  it('ends the follower with TOO_MANY_REQUESTS if others continue', async () => {
    const { from } = endless()
    const stop = new AbortController()
    const [slow, fast] = [0, 1].map(() => from.follow(SOURCE, { tailLines: 0, signal: stop.signal }))
    await slow?.next()
    let characters = 0
    for await (const lines of fast ?? []) {
      characters += lines.length * 1024
      if (characters > 4 * 1024 * 1024) break
    }
    let error: { code?: string } | undefined
    for (let batch = 0; batch < 100 && error === undefined; batch += 1)
      await slow?.next().catch((caught) => {
        error = caught
      })
    expect(error?.code).to.equal('TOO_MANY_REQUESTS')
    stop.abort()
  })
})
