import { expect } from 'chai'
import type { CallStatistics } from '../../src/activator/callStatistics.ts'
import type { MakeTestCall } from '../../src/activator/testCalls.ts'
import type { ActivatorClient } from '../../src/adapters/calls/port.ts'
import { CALL_BUCKET_SECONDS, CALL_RETENTION_SECONDS, CALL_SAMPLES_MAX } from '../../src/contracts/functionCalls.ts'
import { MAX_ANSWER_BODY_BYTES, type TestAnswer } from '../../src/contracts/testCalls.ts'
import type { ManualClock } from '../make/clock.ts'

/**
 * An activator that counts by a clock that the test moves, with test calls as the test defines, and a facade's
 * connection to it.
 */
export type CallsWorld = {
  clock: ManualClock
  figures: CallStatistics
  calls: ActivatorClient
  makes: { call: MakeTestCall }
  /** The activator stops. */
  end(): Promise<void>
}

/** What every connection to the activator must do. */
export function callsContract(open: () => CallsWorld) {
  const call = { milliseconds: 12.5, isError: false, wasCold: true }

  it('returns the counts of one function', async () => {
    const { clock, figures, calls } = open()
    const at = clock.now() / 1000
    figures.called('space/home.hello', call)
    figures.called('space/home.other', call)
    figures.throttled('space/home.hello')
    expect(await calls.of('space', 'home.hello')).to.deep.equal({
      since: at,
      until: at + 1,
      buckets: [{ at, invocations: 1, errors: 0, throttles: 1, coldStarts: 1, durations: [12.5] }],
    })
  })

  it('returns no buckets for unknown functions and invalid names', async () => {
    const { calls } = open()
    for (const name of ['home.idle', '..', 'a/b', '%', 'é', '?x=1', '#'])
      expect((await calls.of('space', name))?.buckets, name).to.deep.equal([])
  })

  it('returns all buckets of a function that was called continuously', async () => {
    const { clock, figures, calls } = open()
    const long = { milliseconds: 899_999.9, isError: true, wasCold: false }
    for (let second = 0; second <= CALL_RETENTION_SECONDS; second += CALL_BUCKET_SECONDS) {
      for (let sample = 0; sample < CALL_SAMPLES_MAX; sample += 1) figures.called('space/home.busy', long)
      if (second < CALL_RETENTION_SECONDS) await clock.advance(CALL_BUCKET_SECONDS * 1000)
    }
    const { buckets = [] } = (await calls.of('space', 'home.busy')) ?? {}
    expect(buckets.length).to.equal(CALL_RETENTION_SECONDS / CALL_BUCKET_SECONDS + 1)
    expect(buckets.every(({ durations }) => durations.length === CALL_SAMPLES_MAX)).to.equal(true)
  })

  it('returns undefined counts without an activator', async () => {
    const { calls, end } = open()
    await end()
    expect(await calls.of('space', 'home.hello')).to.equal(undefined)
  })
  const asked = { boundaryId: 'one', method: 'POST', path: '/a?b=%20', headers: { host: 'shop' }, body: 'aGk=' }
  const never = new AbortController().signal

  it('passes a test call and its answer on unchanged', async () => {
    const { calls, makes } = open()
    const body = Buffer.alloc(MAX_ANSWER_BODY_BYTES, 'é').toString('base64')
    const heard = { statusCode: 418, headers: { 'x-a': '1' }, body, durationMilliseconds: 2.5 }
    const answers: TestAnswer[] = [{ ...heard, isTruncated: true, isColdStart: false }, { refused: 'NoCopy' }]
    for (const answer of answers) {
      const seen: unknown[] = []
      makes.call = async (...given) => {
        seen.push(given.slice(0, 2))
        return answer
      }
      expect(await calls.call('space', 'home.hello', asked, never)).to.deep.equal(answer)
      expect(seen).to.deep.equal([['space/home.hello', asked]])
    }
  })

  it('aborts a test call when its caller disconnects', async () => {
    const { calls, makes } = open()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<TestAnswer>()
    makes.call = async (_key, _call, gone) => {
      gone.addEventListener('abort', () => end({ refused: 'Broken' }))
      begin()
      return ended
    }
    const caller = new AbortController()
    const answer = calls.call('space', 'home.hello', asked, caller.signal)
    await begun
    caller.abort()
    await ended
    await answer
  })

  it('returns undefined for a test call without an activator', async () => {
    const { calls, end } = open()
    await end()
    expect(await calls.call('space', 'home.hello', asked, never)).to.equal(undefined)
  })
}
