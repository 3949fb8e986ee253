import { expect } from 'chai'
import {
  type CrosslinkExposure,
  type CrosslinkSite,
  type Grant,
  type GrantEntries,
  grantFor,
  isKnownEverywhere,
  withConflicts,
  withGrant,
  withReport,
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
const report = (minute: number, sites: CrosslinkSite[], exposures: CrosslinkExposure[] = []) => ({
  ...{ observedAtUtc: at(minute), sites, exposures },
})

describe('a report of a site', () => {
  const one = withReport({}, report(5, [site('a')], [exposure('a')]))

  it('stands beside those of others, each with its time', () => {
    const both = withReport(one, report(3, [site('b')], [exposure('b')]))
    expect(both.sites.map(({ clusterId, observedAtUtc }) => [clusterId, observedAtUtc])).to.deep.equal([
      ['a', at(5)],
      ['b', at(3)],
    ])
    expect(both.exposures).to.have.length(2)
  })

  it('replaces all that was known of the site', () => {
    const next = withReport(one, report(6, [site('a', { status: 2 })], [exposure('a', { routingKey: 'new' })]))
    expect(next.sites).to.have.length(1)
    expect(next.sites[0]).to.include({ status: 2 })
    expect(next.exposures.map(({ routingKey }) => routingKey)).to.deep.equal(['new'])
  })

  it('changes nothing if something newer is known', () => {
    expect(withReport(one, report(4, [site('a', { status: 3 })]))).to.deep.equal(one)
  })

  it('says nothing of exposures of other sites', () => {
    expect(withReport(one, report(6, [site('b')], [exposure('a'), exposure('a')])).exposures).to.have.length(1)
  })

  it('gives a hub no link', () => {
    expect(withReport({}, report(1, [site('h', { role: 0, linkStatus: 2 })])).sites[0]).to.include({ linkStatus: 0 })
  })
})

describe('exposures', () => {
  for (const [says, exposures, conflicts] of [
    ['of their own are none', [exposure('a'), exposure('b')], [false, false]],
    ['with one routing key are both', [exposure('a'), exposure('b', { routingKey: 'a' })], [true, true]],
    ['with one service and port are both', [exposure('a'), exposure('b', { serviceName: 'a' })], [true, true]],
    [
      'with one service on two ports are none',
      [exposure('a'), exposure('b', { serviceName: 'a', publishedPort: 81 })],
      [false, false],
    ],
  ] as const)
    it(`in conflict: ${says}`, () => {
      expect(withConflicts(exposures).map(({ isConflict }) => isConflict)).to.deep.equal(conflicts)
    })
})

describe('a version of the authority', () => {
  it('is known everywhere once each site has told so', () => {
    const { sites } = withReport({}, report(1, [site('a', { observedPkiVersion: 2 }), site('b')]))
    expect(isKnownEverywhere({ sites }, 2)).to.equal(false)
    expect(isKnownEverywhere({ sites: sites.slice(0, 1) }, 2)).to.equal(true)
    expect(isKnownEverywhere({}, 2)).to.equal(true)
  })
})

describe('grants', () => {
  const grant = (code: string, minute: number): Grant => ({
    ...{ code, expiresUtc: at(minute), caPem: 'PEM', hubEndpoint: 'hub:1', url: 'https://hub' },
  })
  const entries: GrantEntries = { reported: withGrant(withGrant(undefined, grant('one', 5), 0), grant('two', 20), 0) }
  const now = Date.parse(at(10))
  const take = (given: GrantEntries, clusterId: string) => {
    const found = grantFor(given, clusterId, now)
    return { code: found?.grant.code, entries: found?.taken === undefined ? given : { ...given, taken: found.taken } }
  }

  it("that are over are nobody's, and forgotten with the next", () => {
    expect(take({ reported: withGrant(undefined, grant('one', 5), 0) }, 'a').code).to.equal(undefined)
    expect(withGrant(entries.reported, grant('three', 30), now)).to.not.include('"one"')
  })

  it('stay with the spoke that has one, and go to no other', () => {
    const first = take(entries, 'a')
    expect(first.code).to.equal('two')
    expect(take(first.entries, 'a').code).to.equal('two')
    expect(take(first.entries, 'b').code).to.equal(undefined)
    const more = { ...first.entries, issued: withGrant(undefined, grant('three', 30), now) }
    expect(take(more, 'b').code).to.equal('three')
  })
})
