import { Readable } from 'node:stream'
import { expect } from 'chai'
import { ManualClock } from '../../../../test/make/clock.ts'
import { type PlatformError, permissionMissing } from '../../../core/errors.ts'
import { CacheReadTrackers } from '../../../core/readTrackers.ts'
import {
  CHANGE_DEBOUNCE_MS,
  CHUNK_READ_TIMEOUT_MS,
  FollowedList,
  KEEPALIVE_INTERVAL_MS,
  type ListSubscription,
  MAX_FOLLOWED_ENTRIES,
} from './followedList.ts'
import type { ListEntry } from './listState.ts'

const BOOKMARK = /^retry: 2000\nid:\n\n/

/** The number of reads that the list tracks. */
const READ = 1

/** A list of names in memory, followed by one reader. */
function world() {
  const clock = new ManualClock()
  const stopping = new AbortController()
  const disconnected = new AbortController()
  const readers = new CacheReadTrackers()
  const counts = { asked: 0, reads: 0, cut: 0, remembered: 0, spent: 0 }
  let names: readonly string[] = ['one']
  let refusal: PlatformError | undefined
  const entries = (): ListEntry[] => names.map((name) => ({ id: name, name, text: JSON.stringify({ name }) }))
  const followed: ListSubscription = {
    read: async () => {
      counts.reads += 1
      readers.note()
      if (refusal !== undefined) throw refusal
      return entries()
    },
    ask: async () => {
      counts.asked += 1
      if (refusal !== undefined) throw refusal
    },
    turn: () => undefined,
    spend: (bytes) => {
      counts.spent += bytes
    },
    refusalOf: (error) => JSON.stringify({ code: (error as PlatformError).code }),
    lastEventId: undefined,
    signal: disconnected.signal,
    cut: () => {
      counts.cut += 1
    },
  }
  const remember = (more: number) => {
    counts.remembered += more
  }
  const list = new FollowedList(followed, { clock, stopping: stopping.signal, remember })
  const events = list.events()
  return {
    clock,
    stopping,
    disconnected,
    counts,
    list,
    events,
    /** @returns the next chunk, while so many milliseconds pass */
    async within(milliseconds: number) {
      const next = events.next()
      await clock.advance(milliseconds)
      const { value, done } = await next
      return done === true ? undefined : (value as string)
    },
    async begin() {
      await list.begin()
      expect((await events.next()).value).to.match(BOOKMARK)
      expect((await events.next()).value).to.match(/^event: added\ndata: {"name":"one"}\n\nevent: bookmark\n/)
    },
    set(...next: string[]) {
      names = next
      readers.changed('', 'any')
    },
    refuse(error: PlatformError) {
      refusal = error
    },
  }
}

describe('FollowedList', () => {
  it('sends a comment every 10 s without reading the list', async () => {
    const { counts, begin, within } = world()
    await begin()
    expect(await within(KEEPALIVE_INTERVAL_MS)).to.equal(':\n\n')
    expect(await within(KEEPALIVE_INTERVAL_MS)).to.equal(':\n\n')
    expect(counts.reads).to.equal(1)
    expect(counts.asked).to.equal(2)
  })

  it('sends changes within CHANGE_DEBOUNCE_MS together', async () => {
    const { begin, set, events, clock } = world()
    await begin()
    const next = events.next()
    set('one', 'two')
    await clock.advance(CHANGE_DEBOUNCE_MS - 1)
    set('two', 'three')
    await clock.advance(1)
    const types = ((await next).value as string).match(/^event: \w+\ndata: .*$/gm)
    expect(types).to.deep.equal([
      'event: deleted\ndata: {"id":"one","name":"one"}',
      'event: added\ndata: {"name":"two"}',
      'event: added\ndata: {"name":"three"}',
    ])
  })

  it('sends no event for a change that does not affect the list', async () => {
    const { begin, set, within, counts } = world()
    await begin()
    set('one')
    expect(await within(CHANGE_DEBOUNCE_MS + KEEPALIVE_INTERVAL_MS)).to.equal(':\n\n')
    expect(counts.reads).to.equal(2)
  })

  it('sends comments on time while changes do not affect the list', async () => {
    const { begin, set, events, clock, counts } = world()
    await begin()
    const next = events.next()
    for (let elapsed = 0; elapsed < KEEPALIVE_INTERVAL_MS; elapsed += CHANGE_DEBOUNCE_MS) {
      set('one')
      await clock.advance(CHANGE_DEBOUNCE_MS)
    }
    expect((await next).value).to.equal(':\n\n')
    expect(counts.asked).to.equal(1)
    expect(counts.reads).to.be.greaterThan(10)
  })

  it('does not read the list while the client reads nothing', async () => {
    const { begin, set, within, counts, clock } = world()
    await begin()
    for (let count = 0; count < 100; count += 1) {
      set('one', `new-${count}`)
      await clock.advance(CHANGE_DEBOUNCE_MS)
    }
    expect(counts.reads).to.equal(1)
    expect(await within(CHANGE_DEBOUNCE_MS)).to.match(/^event: added\ndata: {"name":"new-99"}\nid: \w+\n\n$/)
  })

  it('cuts off a client that reads nothing for CHUNK_READ_TIMEOUT_MS', async () => {
    const { begin, counts, clock } = world()
    await begin()
    await clock.advance(CHUNK_READ_TIMEOUT_MS - 1)
    expect(counts.cut).to.equal(0)
    await clock.advance(1)
    expect(counts.cut).to.equal(1)
  })

  it('sends chunks of at most 64 KiB and counts their bytes', async () => {
    const { list, events, set, counts } = world()
    set(...Array.from({ length: 3_000 }, (_, index) => `${'x'.repeat(60)}${index}`))
    await list.begin()
    const sent: string[] = []
    for await (const piece of Readable.from(events)) {
      sent.push(piece as string)
      if ((piece as string).includes('event: bookmark')) break
    }
    expect(sent.length).to.be.greaterThan(3)
    expect(Math.max(...sent.map(({ length }) => length))).to.be.at.most(65_536)
    expect(counts.spent).to.equal(sent.join('').length)
    expect(sent.join('').match(/event: added/g)).to.have.length(3_000)
  })

  it('counts unread entries as remembered until they are read or the client disconnects', async () => {
    const { list, events, set, counts, disconnected } = world()
    set(...Array.from({ length: 3_000 }, (_, index) => `${'x'.repeat(160)}${index}`))
    await list.begin()
    expect(counts.remembered).to.equal(3_000 + READ)
    await events.next()
    await events.next()
    const waiting = counts.remembered - 3_000 - READ
    // About 200 characters each; the first 64 KiB have been read.
    expect(waiting).to.be.within(2_500, 3_000)
    await events.next()
    expect(counts.remembered - 3_000 - READ).to.be.within(waiting - 330, waiting - 320)
    disconnected.abort()
    await events.return(undefined)
    list.end()
    expect(counts.remembered).to.equal(0)
  })

  it('closes with the current refusal of the request, at a comment or at a change', async () => {
    const refusal = permissionMissing('vectorcluster/read', '/')
    const closed = 'event: closed\ndata: {"code":"FORBIDDEN"}\n\n'
    const quiet = world()
    await quiet.begin()
    quiet.refuse(refusal)
    expect(await quiet.within(KEEPALIVE_INTERVAL_MS)).to.equal(closed)
    expect(await quiet.within(0)).to.equal(undefined)
    const busy = world()
    await busy.begin()
    busy.refuse(refusal)
    busy.set('one', 'two')
    expect(await busy.within(CHANGE_DEBOUNCE_MS)).to.equal(closed)
    expect(await busy.within(0)).to.equal(undefined)
  })

  it('closes with BAD_REQUEST above MAX_FOLLOWED_ENTRIES', async () => {
    const { begin, set, within, list } = world()
    await begin()
    set(...Array.from({ length: MAX_FOLLOWED_ENTRIES + 1 }, (_, index) => `n-${index}`))
    expect(await within(CHANGE_DEBOUNCE_MS)).to.equal('event: closed\ndata: {"code":"BAD_REQUEST"}\n\n')
    const error = await list.begin().catch((thrown: PlatformError) => thrown)
    expect((error as PlatformError).extras).to.deep.equal({ parameter: 'filter' })
  })

  it('ends when the client disconnects or the platform stops', async () => {
    const one = world()
    await one.begin()
    const next = one.events.next()
    await one.clock.advance(1)
    one.disconnected.abort()
    await next
    const other = world()
    await other.begin()
    const last = other.events.next()
    await other.clock.advance(1)
    other.stopping.abort()
    expect((await last).value).to.equal('event: closed\ndata: {"code":"SERVICE_UNAVAILABLE"}\n\n')
    expect(await other.within(0)).to.equal(undefined)
    expect([one.counts.cut, other.counts.cut]).to.deep.equal([0, 0])
  })

  it('cuts off a client with an unread chunk when the platform stops', async () => {
    const { begin, stopping, counts } = world()
    await begin()
    stopping.abort()
    expect(counts.cut).to.equal(1)
  })

  it('releases its timers and remembered entries at its end', async () => {
    const { begin, disconnected, events, list, counts, clock, set } = world()
    await begin()
    expect(counts.remembered).to.equal(1 + READ)
    const next = events.next()
    set('one', 'two')
    await clock.advance(CHANGE_DEBOUNCE_MS)
    await next
    expect(counts.remembered).to.equal(2 + READ)
    disconnected.abort()
    await events.return(undefined)
    list.end()
    expect(counts.remembered).to.equal(0)
    expect(clock.pending).to.equal(0)
    set('three')
    expect(counts.reads).to.equal(2)
  })
})
