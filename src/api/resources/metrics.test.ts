import { expect } from 'chai'
import { PlatformError } from '../../core/errors.ts'
import { windowOf } from './metrics.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const SECONDS = NOW / 1000

describe('windowOf', () => {
  it('returns the last hour in 120 points by default', () => {
    expect(windowOf({}, NOW)).to.deep.equal({
      from: '2026-11-22T11:00:00Z',
      to: '2026-11-22T12:00:00Z',
      stepSeconds: 30,
      holdsNow: true,
    })
  })
  it('accepts a step as a duration', () => {
    expect(windowOf({ step: '5m' }, NOW).stepSeconds).to.equal(300)
  })
  const refused: [sentence: string, query: Parameters<typeof windowOf>[0]][] = [
    ['two steps', { step: '5m', stepSeconds: 300 }],
    ['an end before its beginning', { from: SECONDS, to: SECONDS - 1 }],
    ['more than 31 days', { from: SECONDS - 32 * 86_400 }],
    ['more than 1500 points', { from: SECONDS - 86_400, stepSeconds: 15 }],
    ['a step of less than 15 seconds', { step: '5s' }],
  ]
  for (const [sentence, query] of refused) {
    it(`rejects ${sentence} and names the parameter`, () =>
      expect(() => windowOf(query, NOW))
        .to.throw(PlatformError)
        .with.nested.property('extras.parameter'))
  }
})
