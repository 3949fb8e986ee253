import { expect } from 'chai'
import { type AlertReports, addAlertReport, alertObjectName, alertOccurrencesOf } from './monitoring.ts'

const BEGIN = '2026-01-01T00:00:00Z'
const NOW = '2026-01-02T00:00:00Z'
const EARLIER = '2026-01-01T12:00:00Z'

describe('addAlertReport', () => {
  const fired: AlertReports = { times: 2, lastAt: BEGIN }
  const cases: [
    sentence: string,
    before: AlertReports | undefined,
    status: 'Firing' | 'Resolved',
    after: AlertReports,
  ][] = [
    ['counts the first firing', undefined, 'Firing', { times: 1, lastAt: NOW }],
    ['counts each firing', fired, 'Firing', { times: 3, lastAt: NOW }],
    ['records the resolution without counting it', fired, 'Resolved', { times: 2, lastAt: NOW, resolvedAt: NOW }],
    [
      'keeps the first time of the resolution',
      { ...fired, resolvedAt: BEGIN },
      'Resolved',
      { times: 2, lastAt: NOW, resolvedAt: BEGIN },
    ],
    [
      'removes the resolution when the alert fires again',
      { ...fired, resolvedAt: BEGIN },
      'Firing',
      { times: 3, lastAt: NOW },
    ],
  ]
  for (const [sentence, before, status, after] of cases)
    it(sentence, () => expect(addAlertReport(before, status, NOW)).to.deep.equal(after))
})

describe('alertOccurrencesOf', () => {
  const metadata = { creationTimestamp: BEGIN, generation: 2 }
  const seen = (spec: Parameters<typeof alertOccurrencesOf>[0]['spec'], status = {}) =>
    alertOccurrencesOf({ metadata, spec, status }, NOW)

  it('returns the time of creation without reports', () => {
    const expected = { firstSeenAt: BEGIN, lastSeenAt: BEGIN, resolvedAt: undefined, occurrences: 1 }
    expect(seen({ status: 'Firing' })).to.deep.equal(expected)
  })
  it('returns the time and count of reports through REST', () => {
    const told = { times: 7, lastAt: EARLIER }
    expect(seen({ status: 'Firing', told }, { firstSeenAt: BEGIN, occurrences: 1 })).to.include({
      lastSeenAt: EARLIER,
      occurrences: 7,
    })
  })
  it('returns the current time after a change with kubectl', () => {
    const before = { observedGeneration: 1, lastSeenAt: BEGIN }
    expect(seen({ status: 'Resolved' }, before)).to.include({ lastSeenAt: NOW, resolvedAt: NOW })
  })
  it('returns the last times without a change', () => {
    const before = { observedGeneration: 2, lastSeenAt: EARLIER, resolvedAt: EARLIER }
    expect(seen({ status: 'Resolved' }, before)).to.include({ lastSeenAt: EARLIER, resolvedAt: EARLIER })
  })
})

describe('alertObjectName', () => {
  const one = { alertId: 'a', resourceType: 'apps', resourceName: 'web' }
  it('is the same for the same alert', () =>
    expect(alertObjectName(one, 'shop')).to.equal(alertObjectName({ ...one }, 'shop')))
  it('differs for another group or alertId', () => {
    const names = [alertObjectName(one, 'shop'), alertObjectName(one), alertObjectName({ ...one, alertId: 'a","apps' })]
    expect(new Set(names).size).to.equal(3)
  })
})
