import { expect } from 'chai'
import { activeUntil, type JitObject, jitAssignmentName, jitAssignmentSpec, jitState, pendingUntil } from './jit.ts'

const HOUR = 3_600_000
const ASKED = '2026-01-01T00:00:00Z'
const asked = Date.parse(ASKED)
const WANTED = {
  principalId: 'anna',
  principalType: 'User',
  roleDefinitionName: 'Owner',
  scope: '/',
  justification: 'on call',
  durationMinutes: 60,
}
const request = (spec: object = {}, more: object = {}) =>
  ({ metadata: { name: 'one', creationTimestamp: ASKED }, spec: { ...WANTED, ...spec }, ...more }) as JitObject
const approved = request({ decision: 'Approved', decidedAt: ASKED })

describe('jitState', () => {
  const cases: [sentence: string, request: JitObject, at: number, expected: string][] = [
    ['waits for a decision for a day', request(), asked + 24 * HOUR - 1, 'Pending'],
    ['expires undecided after a day', request(), asked + 24 * HOUR, 'Expired'],
    ['waits if its creation time is unreadable', request({}, { metadata: { name: 'one' } }), asked, 'Pending'],
    ['is active for its duration', approved, asked + HOUR - 1, 'Active'],
    ['ends after its duration', approved, asked + HOUR, 'Ended'],
    ['ends if its assignment was deleted', { ...approved, status: { state: 'Ended' } } as JitObject, asked, 'Ended'],
    [
      'is active whatever else its status says',
      { ...approved, status: { state: 'Pending' } } as JitObject,
      asked,
      'Active',
    ],
    ['never begins without a time of approval', request({ decision: 'Approved' }), asked, 'Ended'],
    ['never begins with an unreadable time', request({ decision: 'Approved', decidedAt: 'soon' }), asked, 'Ended'],
    ['is denied', request({ decision: 'Denied', decidedAt: ASKED }), asked, 'Denied'],
    ['is cancelled', request({ decision: 'Cancelled', decidedAt: ASKED }), asked, 'Cancelled'],
  ]
  for (const [sentence, given, at, expected] of cases)
    it(sentence, () => expect(jitState(given, at)).to.equal(expected))
})

describe('activeUntil, pendingUntil and jitAssignmentSpec', () => {
  it('end an hour after the approval, and a day after the request', () => {
    expect([activeUntil(approved), pendingUntil(approved)]).to.deep.equal([asked + HOUR, asked + 24 * HOUR])
    expect(activeUntil(request({ decision: 'Denied', decidedAt: ASKED }))).to.equal(undefined)
  })

  it('grant what was requested, in the life of the scope that it was requested for, until its end', () => {
    const { justification: reason, durationMinutes: _, ...wanted } = WANTED
    expect(jitAssignmentSpec(approved, 'first')).to.deep.equal({
      ...wanted,
      scopeIncarnation: 'first',
      expiresAt: '2026-01-01T01:00:00Z',
      reason,
      jitRequestId: 'one',
    })
  })

  it('grant nothing without an approval or a life of the scope', () => {
    expect(jitAssignmentSpec(approved, undefined)).to.equal(undefined)
    for (const spec of [{}, { decision: 'Denied', decidedAt: ASKED }, { decision: 'Approved' }])
      expect(jitAssignmentSpec(request(spec), 'first')).to.equal(undefined)
  })

  it('name the same assignment for every retry of one request', () => {
    expect(jitAssignmentName(approved)).to.equal(jitAssignmentName(request()))
    expect(jitAssignmentName(approved)).to.not.equal(jitAssignmentName({ metadata: { name: 'two' } }))
  })
})
