import { expect } from 'chai'
import { type AlertReports, addAlertReport, alertObjectName, alertOccurrencesOf } from './monitoring.ts'

const BEGIN = '2026-01-01T00:00:00Z'
const NOW = '2026-01-02T00:00:00Z'
const EARLIER = '2026-01-01T12:00:00Z'

describe('what REST was told of an alert', () => {
  const fired: AlertReports = { times: 2, lastAt: BEGIN }
  const cases: [
    sentence: string,
    before: AlertReports | undefined,
    status: 'Firing' | 'Resolved',
    after: AlertReports,
  ][] = [
    ['counts from the first time', undefined, 'Firing', { times: 1, lastAt: NOW }],
    ['counts each time that it fires', fired, 'Firing', { times: 3, lastAt: NOW }],
    ['does not count that it is over', fired, 'Resolved', { times: 2, lastAt: NOW, resolvedAt: NOW }],
    [
      'keeps since when it is over',
      { ...fired, resolvedAt: BEGIN },
      'Resolved',
      { times: 2, lastAt: NOW, resolvedAt: BEGIN },
    ],
    ['is no longer over when it fires again', { ...fired, resolvedAt: BEGIN }, 'Firing', { times: 3, lastAt: NOW }],
  ]
  for (const [sentence, before, status, after] of cases)
    it(sentence, () => expect(addAlertReport(before, status, NOW)).to.deep.equal(after))
})

describe('when an alert was seen', () => {
  const metadata = { creationTimestamp: BEGIN, generation: 2 }
  const seen = (spec: Parameters<typeof alertOccurrencesOf>[0]['spec'], status = {}) =>
    alertOccurrencesOf({ metadata, spec, status }, NOW)

  it('is when it was made, where nobody has said more', () => {
    const expected = { firstSeenAt: BEGIN, lastSeenAt: BEGIN, resolvedAt: undefined, occurrences: 1 }
    expect(seen({ status: 'Firing' })).to.deep.equal(expected)
  })
  it('is what REST was told, where it was', () => {
    const told = { times: 7, lastAt: EARLIER }
    expect(seen({ status: 'Firing', told }, { firstSeenAt: BEGIN, occurrences: 1 })).to.include({
      lastSeenAt: EARLIER,
      occurrences: 7,
    })
  })
  it('is now, where somebody has changed it with kubectl', () => {
    const before = { observedGeneration: 1, lastSeenAt: BEGIN }
    expect(seen({ status: 'Resolved' }, before)).to.include({ lastSeenAt: NOW, resolvedAt: NOW })
  })
  it('stays as it was, where nobody has', () => {
    const before = { observedGeneration: 2, lastSeenAt: EARLIER, resolvedAt: EARLIER }
    expect(seen({ status: 'Resolved' }, before)).to.include({ lastSeenAt: EARLIER, resolvedAt: EARLIER })
  })
})

describe('the name of an alert', () => {
  const one = { alertId: 'a', resourceType: 'apps', resourceName: 'web' }
  it('is the same for the same alert', () =>
    expect(alertObjectName(one, 'shop')).to.equal(alertObjectName({ ...one }, 'shop')))
  it('is another one for another group, whatever the words', () => {
    const names = [alertObjectName(one, 'shop'), alertObjectName(one), alertObjectName({ ...one, alertId: 'a","apps' })]
    expect(new Set(names).size).to.equal(3)
  })
})
