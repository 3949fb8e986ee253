import { expect } from 'chai'
import { grantExpiryOf, requestRemovalTimeOf } from './rbac.ts'

describe('expiry of assignments and requests', () => {
  const ends: [string, string | undefined, number | undefined][] = [
    ['an assignment with an expiry', '2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1)],
    ['an assignment without an expiry', undefined, undefined],
    ['an assignment with an invalid expiry', 'soon', undefined],
  ]
  for (const [title, expiresAt, end] of ends) {
    it(`reads expiresAt of ${title}`, () => expect(grantExpiryOf({ spec: { expiresAt } })).to.equal(end))
  }

  const asked = Date.UTC(2026, 0, 1)
  const requests: [string, object, number][] = [
    ['an open request two days after its creation', {}, asked + 2 * 86_400_000],
    [
      'an approved request a day after its duration',
      { decision: 'Approved', decidedAt: '2026-01-01T01:00:00Z' },
      asked + 7_200_000 + 86_400_000,
    ],
    [
      'a denied request a day after the decision',
      { decision: 'Denied', decidedAt: '2026-01-01T01:00:00Z' },
      asked + 90_000_000,
    ],
  ]
  for (const [title, spec, end] of requests) {
    it(`removes ${title}`, () => {
      const metadata = { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' }
      expect(requestRemovalTimeOf({ metadata, spec: { durationMinutes: 60, ...spec } as never })).to.equal(end)
    })
  }
})
