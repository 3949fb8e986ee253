import { expect } from 'chai'
import { truncateReport } from './truncateReport.ts'

describe('truncateReport', () => {
  it('keeps a normal report unchanged', () => {
    const report = { ready: 2, primary: 'one', gone: undefined, list: [{ at: 'x', is: true }], map: { a: null } }
    expect(truncateReport(report)).to.deep.equal(report)
  })

  const cases: [what: string, report: object, most: number][] = [
    ['one long text', { primary: 'x'.repeat(1_000_000) }, 3_000],
    ['many texts', { copies: Array.from({ length: 50_000 }, (_, at) => `pod-${at}${'x'.repeat(200)}`) }, 70_000],
    ['many fields', { seen: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, 1])) }, 10_000],
    ['nested texts', { a: { b: [{ c: 'x'.repeat(1_000_000) }] } }, 3_000],
  ]
  for (const [what, report, most] of cases)
    it(`bounds the size of a report with ${what}`, () => {
      expect(JSON.stringify(truncateReport(report)).length).to.be.within(1_000, most)
    })

  it('replaces control characters', () => {
    expect(truncateReport({ primary: 'a\u001b[2J\nb' })).to.deep.equal({ primary: 'a [2J b' })
  })

  it('does not split a surrogate pair', () => {
    const { primary } = truncateReport({ primary: `${'x'.repeat(2_047)}\u{1f600}` })
    expect(primary).to.have.length(2_047)
  })
})
