import { expect } from 'chai'
import { shortAuditLog } from './auditLog.ts'

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const rest = { auditID: 'a', verb: 'patch', objectRef: { name: 'shop' } }
const long = 'x'.repeat(100_000)

describe('shortAuditLog', () => {
  const cases: [sentence: string, event: unknown, expected: unknown][] = [
    [
      'keeps who changed which object, the status and the resulting object',
      { ...rest, requestObject: { spec: long }, responseStatus: { code: 200 }, responseObject: { spec: long } },
      { ...rest, responseStatus: { code: 200 }, responseObject: { spec: long } },
    ],
    [
      'keeps only the code and the reason of a rejected request',
      {
        ...rest,
        responseStatus: { code: 422, reason: 'Invalid', message: long, details: { causes: [{ message: long }] } },
        responseObject: { kind: 'Status', message: long },
      },
      { ...rest, responseStatus: { code: 422, reason: 'Invalid' } },
    ],
    ['returns an item that is not an event unchanged', 1, 1],
  ]
  for (const [sentence, event, expected] of cases) {
    it(sentence, () => {
      const found = JSON.parse(JSON.stringify(shortAuditLog(bytes({ kind: 'EventList', items: [event] }))))
      expect(found).to.deep.equal({ kind: 'EventList', items: [expected] })
    })
  }

  it('returns undefined for invalid JSON, and JSON without events unchanged', () => {
    expect(shortAuditLog(Buffer.from('{'))).to.equal(undefined)
    for (const other of [null, 1, { kind: 'Pod' }, { items: 'none' }])
      expect(shortAuditLog(bytes(other))).to.deep.equal(other)
  })
})
