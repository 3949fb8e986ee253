import { expect } from 'chai'
import {
  type CrosslinkExposure,
  type CrosslinkReport,
  type CrosslinkSite,
  type Grant,
  type GrantEntries,
  isKnownEverywhere,
  withReport as merged,
  newestGrant,
  type StoredReport,
  selectSpokeGrant,
  withConflicts,
  withGrant,
} from './crosslink.ts'

const at = (minute: number) => new Date(Date.UTC(2027, 0, 1, 0, minute)).toISOString()
const site = (clusterId: string, more: Partial<CrosslinkSite> = {}): CrosslinkSite => ({
  ...{ clusterId, role: 1, status: 1, linkStatus: 2 },
  ...more,
})
const exposure = (clusterId: string, more: Partial<CrosslinkExposure> = {}): CrosslinkExposure => ({
  ...{
    clusterId,
    kind: 'Service',
    namespace: 'shop',
    publishedPort: 80,
    routingKey: clusterId,
    serviceName: clusterId,
  },
  ...more,
})
const LATER = Date.UTC(2027, 0, 2)
const withReport = (known: StoredReport, reported: CrosslinkReport, now = LATER) => merged(known, reported, now)
const report = (minute: number, sites: CrosslinkSite[], exposures: CrosslinkExposure[] = []) => ({
  ...{ observedAtUtc: at(minute), sites, exposures },
})

describe('merged', () => {
  const one = withReport({}, report(5, [site('a')], [exposure('a')]))

  it('keeps the reports of several sites with their times', () => {
    const both = withReport(one, report(3, [site('b')], [exposure('b')]))
    expect(both.sites.map(({ clusterId, observedAtUtc }) => [clusterId, observedAtUtc])).to.deep.equal([
      ['a', at(5)],
      ['b', at(3)],
    ])
    expect(both.exposures).to.have.length(2)
  })

  it('replaces the earlier report of a site', () => {
    const next = withReport(one, report(6, [site('a', { status: 2 })], [exposure('a', { routingKey: 'new' })]))
    expect(next.sites).to.have.length(1)
    expect(next.sites[0]).to.include({ status: 2 })
    expect(next.exposures.map(({ routingKey }) => routingKey)).to.deep.equal(['new'])
  })

  it('ignores a report that is older than the known one', () => {
    expect(withReport(one, report(4, [site('a', { status: 3 })]))).to.deep.equal(one)
  })

  it('accepts a report after one with a time in the future', () => {
    const now = Date.parse(at(10))
    const ahead = { ...report(0, [site('a')]), observedAtUtc: '2099-01-01T00:00:00Z' }
    const stored = withReport(one, ahead, now)
    expect(stored.sites.map(({ observedAtUtc }) => Date.parse(observedAtUtc))).to.deep.equal([now])
    expect(withReport(stored, report(11, [site('a', { status: 2 })]), Date.parse(at(11))).sites[0]?.status).to.equal(2)
    // As stored by an earlier version.
    const kept = { sites: [{ ...site('a'), observedAtUtc: '2099-01-01T00:00:00Z' }] }
    expect(withReport(kept, report(11, [site('a', { status: 2 })]), Date.parse(at(11))).sites[0]?.status).to.equal(2)
  })

  it('limits the size of all reports to 1 MiB', () => {
    const long = {
      namespace: '\u{10348}'.repeat(120),
      podSelector: '\u20ac'.repeat(1024),
      statusReason: '"'.repeat(1024),
    }
    const many = (id: string) => Array.from({ length: 500 }, () => exposure(id, long))
    const stored = ['a', 'b', 'c'].reduce(
      (known, id) => withReport(known, report(6, [site(id, { statusReason: long.podSelector })], many(id))),
      one,
    )
    expect(Buffer.byteLength(JSON.stringify(stored))).to.be.below(1_048_576)
  })

  it('keeps the exposures of other sites when one reports many', () => {
    const many = (id: string, count: number) =>
      Array.from({ length: count }, (_, at) => exposure(id, { routingKey: `${id}-${at}` }))
    const two = ['a', 'b'].reduce((known, id) => withReport(known, report(6, [site(id)], many(id, 500))), one)
    const all = withReport(two, report(6, [site('c')], many('c', 20)))
    const count = (id: string) => all.exposures.filter(({ clusterId }) => clusterId === id).length
    expect([count('a'), count('b'), count('c')]).to.deep.equal([490, 490, 20])
    const large = [...many('a', 400).map((each) => ({ ...each, statusReason: 'x'.repeat(3000) }))]
    const beside = withReport(withReport({}, report(6, [site('a')], large)), report(6, [site('b')], many('b', 20)))
    expect(beside.exposures.filter(({ clusterId }) => clusterId === 'b')).to.have.length(20)
  })

  it('ignores exposures of other sites', () => {
    expect(withReport(one, report(6, [site('b')], [exposure('a'), exposure('a')])).exposures).to.have.length(1)
  })

  it('sets no link status for a hub', () => {
    expect(withReport({}, report(1, [site('h', { role: 0, linkStatus: 2 })])).sites[0]).to.include({ linkStatus: 0 })
  })
})

describe('withConflicts', () => {
  for (const [says, exposures, conflicts] of [
    ['no conflict between different exposures', [exposure('a'), exposure('b')], [false, false]],
    ['a conflict between equal routing keys', [exposure('a'), exposure('b', { routingKey: 'a' })], [true, true]],
    ['a conflict between equal services and ports', [exposure('a'), exposure('b', { serviceName: 'a' })], [true, true]],
    [
      'no conflict between two ports of one service',
      [exposure('a'), exposure('b', { serviceName: 'a', publishedPort: 81 })],
      [false, false],
    ],
  ] as const)
    it(`reports ${says}`, () => {
      expect(withConflicts(exposures).map(({ isConflict }) => isConflict)).to.deep.equal(conflicts)
    })
})

describe('isKnownEverywhere', () => {
  it('is true after each site has reported the version', () => {
    const { sites } = withReport({}, report(1, [site('a', { observedPkiVersion: 2 }), site('b')]))
    expect(isKnownEverywhere({ sites }, 2)).to.equal(false)
    expect(isKnownEverywhere({ sites: sites.slice(0, 1) }, 2)).to.equal(true)
    expect(isKnownEverywhere({}, 2)).to.equal(true)
  })
})

describe('withGrant, newestGrant and selectSpokeGrant', () => {
  const grant = (code: string, minute: number): Grant => ({
    ...{ code, expiresUtc: at(minute), caPem: 'PEM', hubEndpoint: 'hub:1', url: 'https://hub' },
  })
  const entries: GrantEntries = { reported: withGrant(withGrant(undefined, grant('one', 5), 0), grant('two', 20), 0) }
  const now = Date.parse(at(10))
  const take = (given: GrantEntries, clusterId: string) => {
    const found = selectSpokeGrant(given, clusterId, now)
    return { code: found?.grant.code, entries: found?.taken === undefined ? given : { ...given, taken: found.taken } }
  }

  it('skip malformed entries and use the valid ones beside them', () => {
    for (const text of [
      '{',
      '{}',
      'null',
      '[null]',
      '[{}]',
      '["one"]',
      '[{"code":1,"expiresUtc":"2099-01-01T00:00:00Z"}]',
    ]) {
      const broken = { reported: text, issued: text, taken: text }
      expect(newestGrant(broken, now), text).to.equal(undefined)
      expect(selectSpokeGrant(broken, 'a', now), text).to.equal(undefined)
      expect(withGrant(text, grant('three', 30), now), text).to.include('"three"')
      expect(selectSpokeGrant({ ...broken, reported: entries.reported ?? '' }, 'a', now)?.grant.code, text).to.equal(
        'two',
      )
    }
    expect(newestGrant({ issued: entries.reported ?? '' }, now)?.code).to.equal('two')
    expect(newestGrant({ issued: entries.reported ?? '' }, Date.parse(at(21)))).to.equal(undefined)
  })

  it('skip expired grants and drop them when the next is added', () => {
    expect(take({ reported: withGrant(undefined, grant('one', 5), 0) }, 'a').code).to.equal(undefined)
    expect(withGrant(entries.reported, grant('three', 30), now)).to.not.include('"one"')
  })

  it('return the same grant for a spoke again, and no grant of another spoke', () => {
    const first = take(entries, 'a')
    expect(first.code).to.equal('two')
    expect(take(first.entries, 'a').code).to.equal('two')
    expect(take(first.entries, 'b').code).to.equal(undefined)
    const more = { ...first.entries, issued: withGrant(undefined, grant('three', 30), now) }
    expect(take(more, 'b').code).to.equal('three')
  })
})
