import { expect } from 'chai'
import { grantExpiryOf, requestRemovalTimeOf } from './rbac.ts'

describe('the end of what is granted for a while', () => {
  const ends: [string, string | undefined, number | undefined][] = [
    ['one with an end', '2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1)],
    ['one without', undefined, undefined],
    ['one whose end cannot be read', 'soon', undefined],
  ]
  for (const [title, expiresAt, end] of ends) {
    it(`is known of ${title}`, () => expect(grantExpiryOf({ spec: { expiresAt } })).to.equal(end))
  }

  const asked = Date.UTC(2026, 0, 1)
  const requests: [string, object, number][] = [
    ['an open request: a day to wait and a day to be read', {}, asked + 2 * 86_400_000],
    [
      'an approved one: its minutes from the decision, and a day',
      { decision: 'Approved', decidedAt: '2026-01-01T01:00:00Z' },
      asked + 7_200_000 + 86_400_000,
    ],
    [
      'a denied one: a day from the decision',
      { decision: 'Denied', decidedAt: '2026-01-01T01:00:00Z' },
      asked + 90_000_000,
    ],
  ]
  for (const [title, spec, end] of requests) {
    it(`is that of ${title}`, () => {
      const metadata = { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' }
      expect(requestRemovalTimeOf({ metadata, spec: { durationMinutes: 60, ...spec } as never })).to.equal(end)
    })
  }
})
