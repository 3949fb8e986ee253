import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'
import { REQUEST_LIMITS } from '../../core/requestLimits.ts'
import { CallerLimits, type RateLimitKey } from './callerLimits.ts'
import { noMetrics } from './metrics.ts'
import { beginRawBody, type RawBody, type RawBodyRules } from './rawBody.ts'

function thrown(code: ErrorCode): never {
  throw new PlatformError(code, 'No.')
}

const MIB = 1_048_576
const ANNA = { kind: 'principal', key: 'anna' } as const
const BERT = { kind: 'principal', key: 'bert' } as const

describe('beginRawBody', () => {
  let clock: ManualClock
  let limits: CallerLimits
  beforeEach(() => {
    clock = new ManualClock()
    // A burst of 8 MiB, then 1 MiB a second.
    limits = new CallerLimits({ ...REQUEST_LIMITS, uploadBytesPerSecond: MIB }, clock, noMetrics)
  })

  function sent(mebibytes: number, taker: RateLimitKey = ANNA, ended = async () => {}) {
    const pieces = Array.from({ length: mebibytes }, () => Buffer.alloc(MIB))
    const request = Object.assign(Readable.from(pieces), { headers: {} })
    const response = Object.assign(new EventEmitter(), { closed: false, writableFinished: false })
    const rules = {
      limitBytes: 512 * MIB,
      begin: () => limits.beginUpload(taker),
      hold: () => undefined,
      pay: (bytes: number) => limits.payUpload(taker, bytes),
      ended,
    }
    const exchange = [request as unknown as IncomingMessage, response as unknown as ServerResponse] as const
    return { body: beginRawBody(...exchange, rules, clock), response }
  }

  /** Counts what is read, in MiB. */
  function reading({ body }: ReturnType<typeof sent>) {
    const seen = { read: 0, isEnded: false }
    const read = async () => {
      for await (const piece of body.pieces()) seen.read += piece.length / MIB
      seen.isEnded = true
    }
    void read()
    return seen
  }

  /** @returns the seconds of the clock until the condition holds. Reading takes turns of the event loop first */
  async function secondsUntil(condition: () => boolean): Promise<number> {
    const began = clock.monotonic()
    for (let turn = 0; turn < 50 && !condition(); turn += 1) await setImmediate()
    for (let steps = 0; steps < 1_000 && !condition(); steps += 1) await clock.advance(100)
    return (clock.monotonic() - began) / 1000
  }

  it('reads a burst of 8 MiB at once, the rest at uploadBytesPerSecond', async () => {
    const seen = reading(sent(12))
    expect(await secondsUntil(() => seen.read === 8)).to.equal(0)
    expect(await secondsUntil(() => seen.isEnded)).to.be.at.least(4)
    expect(seen.read).to.equal(12)
  })

  it('shares the upload rate between the bodies of one caller, not between callers', async () => {
    const [one, two, other] = [reading(sent(8)), reading(sent(8)), reading(sent(8, BERT))]
    expect(await secondsUntil(() => other.isEnded && one.read + two.read === 8)).to.equal(0)
    expect(await secondsUntil(() => one.isEnded && two.isEnded)).to.be.at.least(8)
  })

  it('leaves the rate of JSON bodies untouched', async () => {
    const seen = reading(sent(100))
    await secondsUntil(() => seen.read === 8)
    limits.takeBody(ANNA, 4 * MIB)
  })

  it('ends a waiting read when the client disconnects', async () => {
    const upload = sent(9)
    const seen = reading(upload)
    await secondsUntil(() => clock.pending === 1)
    upload.response.emit('close')
    expect(await secondsUntil(() => seen.isEnded)).to.equal(0)
    expect(clock.pending).to.equal(0)
  })

  /** Begins to read these bytes, of which four are accepted, and notes the order of what happens. */
  function begun(sizes: readonly number[], headers: object = {}, rules: Partial<RawBodyRules> = {}) {
    const notes: string[] = []
    const request = Object.assign(Readable.from(sizes.map((size) => Buffer.alloc(size))), { headers })
    const writeContinue = () => notes.push('continue')
    const response = Object.assign(new EventEmitter(), { closed: false, writableFinished: false, writeContinue })
    const all = {
      ...{ limitBytes: 4, begin: () => void notes.push('begin'), hold: (size: number) => void notes.push(`${size}`) },
      ...{ pay: () => 0, ended: async () => void notes.push('ended'), ...rules },
    }
    const exchange = [request as unknown as IncomingMessage, response as unknown as ServerResponse] as const
    return { notes, begin: () => beginRawBody(...exchange, all, clock) }
  }
  const codeOf = (work: () => Promise<unknown> | unknown) =>
    new Promise((resolve) => resolve(work())).then(
      () => 'none',
      (error: PlatformError) => error.code,
    )
  const inPieces = async (body: RawBody) => {
    for await (const piece of body.pieces()) expect(piece.length).to.be.greaterThan(0)
  }

  for (const [what, sizes, headers, code] of [
    ['four bytes', [3, 1], {}, 'none'],
    ['four bytes of which the header says so', [4], { 'content-length': '4' }, 'none'],
    ['five bytes', [3, 2], {}, 'BODY_TOO_LARGE'],
    ['a header that says five', [], { 'content-length': '5' }, 'BODY_TOO_LARGE'],
    ['compressed bytes', [1], { 'content-encoding': 'gzip' }, 'MODEL_BINDING_FAILED'],
  ] as const)
    it(`answers ${what} with ${code}, in pieces and as a whole`, async () => {
      expect(await codeOf(() => inPieces(begun(sizes, headers).begin()))).to.equal(code)
      expect(await codeOf(() => begun(sizes, headers).begin().whole())).to.equal(code)
    })

  it('lets the client send only what may begin, and ends before the last bytes are used', async () => {
    const given = begun([3, 1], { expect: '100-continue' })
    await given.begin().whole()
    expect(given.notes.slice(0, 2)).to.deep.equal(['begin', 'continue'])
    expect(given.notes.at(-1)).to.equal('ended')
    expect(given.notes.slice(2, -1)).to.not.have.length(0)
    const full = begun([1], { expect: '100-continue' }, { begin: () => thrown('TOO_MANY_REQUESTS') })
    expect(await codeOf(full.begin)).to.equal('TOO_MANY_REQUESTS')
    expect(full.notes).to.deep.equal([])
    const late = { ended: async () => thrown('FORBIDDEN') }
    expect(await codeOf(() => inPieces(begun([1], {}, late).begin()))).to.equal('FORBIDDEN')
    expect(await codeOf(() => begun([1], {}, late).begin().whole())).to.equal('FORBIDDEN')
  })

  it('counts a body that is read as a whole', async () => {
    let read = 0
    const whole = async () => {
      for (let count = 0; count < 3; count += 1) read += (await sent(4).body.whole()).length / MIB
    }
    void whole()
    expect(await secondsUntil(() => read === 8)).to.equal(0)
    expect(await secondsUntil(() => read === 12)).to.be.at.least(4)
  })

  it('refuses a body while many of its caller wait, with a correct Retry-After', async () => {
    for (let count = 0; count < 15; count += 1) reading(sent(1))
    for (let turn = 0; clock.pending < 7 && turn < 1_000; turn += 1) await setImmediate()
    const refusalOf = () => {
      try {
        sent(1)
      } catch (error) {
        return error instanceof PlatformError ? [error.code, error.extras.retryAfterSeconds] : error
      }
    }
    expect(refusalOf()).to.deep.equal(['TOO_MANY_REQUESTS', 2])
    await clock.advance(2_000)
    expect(refusalOf()).to.equal(undefined)
    sent(1, BERT)
  })
})
