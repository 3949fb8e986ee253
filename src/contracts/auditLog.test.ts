import { expect } from 'chai'
import { shortAuditLog } from './auditLog.ts'

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const rest = { auditID: 'a', verb: 'patch', objectRef: { name: 'shop' } }
const long = 'x'.repeat(100_000)

describe('a long part of the audit log', () => {
  const cases: [sentence: string, event: unknown, expected: unknown][] = [
    [
      'keeps who did what and how it is then',
      { ...rest, requestObject: { spec: long }, responseStatus: { code: 200 }, responseObject: { spec: long } },
      { ...rest, responseStatus: { code: 200 }, responseObject: { spec: long } },
    ],
    [
      'keeps of a refusal that it was one, and why in one word',
      {
        ...rest,
        responseStatus: { code: 422, reason: 'Invalid', message: long, details: { causes: [{ message: long }] } },
        responseObject: { kind: 'Status', message: long },
      },
      { ...rest, responseStatus: { code: 422, reason: 'Invalid' } },
    ],
    ['leaves what is no event to whoever reads it', 1, 1],
  ]
  for (const [sentence, event, expected] of cases) {
    it(sentence, () => {
      const found = JSON.parse(JSON.stringify(shortAuditLog(bytes({ kind: 'EventList', items: [event] }))))
      expect(found).to.deep.equal({ kind: 'EventList', items: [expected] })
    })
  }

  it('is nothing if it is not JSON, and as it is if it holds no events', () => {
    expect(shortAuditLog(Buffer.from('{'))).to.equal(undefined)
    for (const other of [null, 1, { kind: 'Pod' }, { items: 'none' }])
      expect(shortAuditLog(bytes(other))).to.deep.equal(other)
  })
})
