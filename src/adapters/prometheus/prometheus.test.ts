import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { PLAYED, requestFiguresContract } from '../../../test/suites/requestFiguresContract.ts'
import { askedOf, says, whole } from '../../../test/worlds/playedPrometheus.ts'
import { silentLog as log } from '../../core/log.ts'
import { createRequestFigures } from './client.ts'
import { FakeRequestFigures } from './fake.ts'
import { computeIncrements, stepBoundaries } from './increments.ts'

describe('FakeRequestFigures', () => {
  const source = new FakeRequestFigures(PLAYED.bounds, PLAYED.measured)
  for (const [routed, requests] of PLAYED.requests) source.answered(routed, ...requests)
  requestFiguresContract(() => source)
})

describe('createRequestFigures, reading an answer', () => {
  const ask = (listener: RequestListener, timeout?: number) =>
    askedOf(listener, (url) => {
      const source = createRequestFigures({ url, log, ...(timeout !== undefined && { timeout }) })
      return source.of({ namespace: 'a', route: 'b', service: 'c' }, { from: 0, to: 30, stepSeconds: 30 })
    })
  const result = (metric: object, ...values: [number, string][]) => ({ metric, values })
  const since = result({ what: 'since', instance: 'one' }, [0, '0'], [30, '0'])

  it('returns counts that match the schema', async () => {
    const counted = await ask(says(whole(since, result({ what: 'codes', instance: 'one', code: '200' }, [30, '5']))))
    expect([counted?.isComplete, counted?.steps[0]?.codes]).to.deep.equal([true, { 200: 5 }])
  })
  it('omits values that are not numbers', async () => {
    const counted = await ask(says(whole(since, result({ what: 'seconds', instance: 'one' }, [0, '0'], [30, 'NaN']))))
    expect(counted?.steps[0]?.seconds).to.equal(0)
  })

  const cases: [sentence: string, RequestListener, timeout?: number][] = [
    ['a body that is not JSON', says('<html>')],
    ['status 503', says(whole(since), 503)],
    ['a redirect', (_, response) => response.writeHead(302, { location: '/x' }).end()],
    ['an error with status 200', says({ status: 'error', error: 'parse error' })],
    ['a counter that was not requested', says(whole(result({ what: 'other', instance: 'one' }, [0, '1'])))],
    ['samples that are not numbers', says(whole({ metric: { what: 'codes' }, values: [['now', 1]] }))],
    ['a body of 17 MiB', says(' '.repeat(17 * 1024 * 1024))],
    ['no answer within the timeout', () => {}, 20],
    ['a body that does not end within the timeout', (_, response) => void response.write('{'), 200],
    ['a closed connection', (request) => void request.socket.destroy()],
  ]
  for (const [sentence, listener, timeout] of cases) {
    it(`returns undefined for ${sentence}`, async () => expect(await ask(listener, timeout)).to.equal(undefined))
  }
})

describe('computeIncrements', () => {
  const steps = { from: 0, to: 90, stepSeconds: 30 }
  const counter = (what: 'codes' | 'since', values: Record<number, number>, instance = 'one') => ({
    what,
    instance,
    of: what === 'codes' ? '200' : '',
    values: new Map(Object.entries(values).map(([time, value]) => [Number(time), value])),
  })
  const always = counter('since', { 0: -100, 30: -100, 60: -100, 90: -100 })
  const cases: [sentence: string, counters: ReturnType<typeof counter>[], expected: (number | undefined)[]][] = [
    [
      'subtracts the value before the first step',
      [always, counter('codes', { 0: 5, 30: 7, 60: 7, 90: 10 })],
      [2, 0, 3],
    ],
    ['counts all of a new counter', [always, counter('codes', { 60: 4, 90: 5 })], [0, 4, 1]],
    [
      'counts nothing of a counter that existed before the first sample',
      [counter('since', { 30: -100, 60: -100, 90: -100 }), counter('codes', { 30: 900, 60: 902, 90: 902 })],
      [0, 2, 0],
    ],
    [
      'counts all of a process that started within the period',
      [counter('since', { 60: 45, 90: 45 }), counter('codes', { 60: 3, 90: 4 })],
      [undefined, 3, 1],
    ],
    ['starts at zero when a counter is reset', [always, counter('codes', { 0: 50, 30: 52, 60: 1, 90: 2 })], [2, 1, 1]],
    [
      'adds increments of a gap in the samples to the step after it',
      [counter('since', { 0: -100, 90: -100 }), counter('codes', { 0: 5, 90: 9 })],
      [undefined, undefined, 4],
    ],
    [
      'adds the increments of several processes',
      [
        ...[always, counter('codes', { 0: 5, 30: 6, 60: 6, 90: 6 })],
        counter('since', { 0: -100, 30: -100, 60: -100, 90: -100 }, 'two'),
        counter('codes', { 0: 1, 30: 3, 60: 3, 90: 3 }, 'two'),
      ],
      [3, 0, 0],
    ],
    [
      'returns nothing if no Gateway is measured',
      [counter('codes', { 0: 1, 30: 2 })],
      [undefined, undefined, undefined],
    ],
  ]
  for (const [sentence, counters, expected] of cases) {
    it(sentence, () => {
      const counted = new Map(
        computeIncrements(counters, stepBoundaries(steps)).steps.map((step) => [step.at, step.codes[200] ?? 0]),
      )
      expect([0, 30, 60].map((at) => counted.get(at))).to.deep.equal(expected)
    })
  }
})
