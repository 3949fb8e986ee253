import { expect } from 'chai'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type Failed, nextStatus, type StatusInput, statusPatch, transition } from './status.ts'

const EARLIER = '2026-01-01T00:00:00Z'
const NOW = '2026-01-01T01:00:00Z'

function statusOf(outcome: Outcome | Failed, change: Partial<StatusInput> = {}): Record<string, unknown> {
  const input = { previous: {}, reported: {}, serving: undefined, generation: 3, deleting: false, now: NOW }
  return nextStatus({ ...input, outcome, ...change })
}

const condition = (type: string, status: string, reason: string, message: string, since = NOW) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 3,
  lastTransitionTime: since,
})

describe('the conditions of an outcome', () => {
  const cases: [string, Outcome | Failed, object[]][] = [
    ['done is Ready and nothing else', done(), [condition('Ready', 'True', 'Available', '')]],
    ['done because it is stopped says so', done({ reason: 'Stopped' }), [condition('Ready', 'True', 'Stopped', '')]],
    [
      'waiting is not Ready and Reconciling',
      waiting('WaitingForWorkload', '1 of 3 peers is ready.'),
      [
        condition('Ready', 'False', 'WaitingForWorkload', '1 of 3 peers is ready.'),
        condition('Reconciling', 'True', 'WaitingForWorkload', '1 of 3 peers is ready.'),
      ],
    ],
    [
      'degraded is not Ready, and neither Reconciling nor Stalled',
      degraded('CrashLooping', 'Peer 2 crashes.'),
      [condition('Ready', 'False', 'CrashLooping', 'Peer 2 crashes.')],
    ],
    [
      'stalled is not Ready and Stalled',
      stalled('PlanNotFound', 'No plan "huge".'),
      [
        condition('Ready', 'False', 'PlanNotFound', 'No plan "huge".'),
        condition('Stalled', 'True', 'PlanNotFound', 'No plan "huge".'),
      ],
    ],
    [
      'failed is not Ready and Reconciling, because it is tried again',
      { kind: 'failed', message: 'Step "x" failed.' },
      [
        condition('Ready', 'False', 'ReconcileFailed', 'Step "x" failed.'),
        condition('Reconciling', 'True', 'ReconcileFailed', 'Step "x" failed.'),
      ],
    ],
  ]
  for (const [sentence, outcome, conditions] of cases) {
    it(sentence, () => expect(statusOf(outcome).conditions).to.deep.equal(conditions))
  }
})

describe('the status after an outcome', () => {
  it('keeps the time at which it was first ready', () => {
    expect(statusOf(done()).firstReadyAt).to.equal(NOW)
    expect(statusOf(done(), { previous: { firstReadyAt: EARLIER } }).firstReadyAt).to.equal(EARLIER)
    expect(statusOf(waiting('Scaling', 'x'), { previous: {} }).firstReadyAt).to.equal(undefined)
  })

  it('is Provisioning before it was ever ready and Updating afterwards', () => {
    expect(statusOf(waiting('Scaling', 'x')).status).to.equal('Provisioning')
    expect(statusOf(waiting('Scaling', 'x'), { previous: { firstReadyAt: EARLIER } }).status).to.equal('Updating')
  })

  it('is Degraded where something serves in spite of the outcome, else Failed', () => {
    expect(statusOf(stalled('QuotaExceeded', 'x'), { serving: true }).status).to.equal('Degraded')
    expect(statusOf(stalled('QuotaExceeded', 'x'), { previous: { serving: true } }).status).to.equal('Degraded')
    expect(statusOf(stalled('QuotaExceeded', 'x')).status).to.equal('Failed')
  })

  it('takes a resource that is ready for serving, unless it is stopped or a step knows better', () => {
    expect(statusOf(done()).serving).to.equal(true)
    expect(statusOf(done({ reason: 'Stopped' })).serving).to.equal(false)
    expect(statusOf(done(), { serving: false }).serving).to.equal(false)
  })

  it('is Deleting during deletion, whatever the outcome', () => {
    const status = statusOf(waiting('TearingDown', 'Waiting for 3 claims.'), { deleting: true })
    expect(status).to.include({ status: 'Deleting', phase: 'TearingDown', statusMessage: 'Waiting for 3 claims.' })
  })

  it('does not claim a generation that failed', () => {
    const failed: Failed = { kind: 'failed', message: 'x' }
    expect(statusOf(failed, { previous: { observedGeneration: 2 } }).observedGeneration).to.equal(2)
    expect(statusOf(done(), { previous: { observedGeneration: 2 } }).observedGeneration).to.equal(3)
  })

  it('lets steps report their fields but not write the engine its own', () => {
    const status = statusOf(done(), { reported: { readyReplicas: 3, phase: 'Mine' }, previous: { readyReplicas: 1 } })
    expect(status).to.include({ readyReplicas: 3, phase: 'Available' })
  })
})

describe('the patch between two statuses', () => {
  it('is nothing where the same outcome is told again later', () => {
    const first = statusOf(waiting('Scaling', 'x'), { now: EARLIER })
    expect(statusPatch(first, statusOf(waiting('Scaling', 'x'), { previous: first }))).to.equal(undefined)
  })

  it('is nothing where only the order of conditions differs', () => {
    const first = statusOf(waiting('Scaling', 'x'))
    const turned = { ...first, conditions: [...(first.conditions as object[])].reverse() }
    expect(statusPatch(turned, first)).to.equal(undefined)
  })

  it('holds only what differs, removes with null, and goes into maps', () => {
    const previous = { a: 1, gone: 'x', map: { same: 1, old: 2, changed: 3 }, list: [1, 2] }
    const next = { a: 1, gone: undefined, map: { same: 1, changed: 4 }, list: [1, 3], fresh: true }
    expect(statusPatch(previous, next)).to.deep.equal({
      gone: null,
      map: { old: null, changed: 4 },
      list: [1, 3],
      fresh: true,
    })
  })
})

describe('a transition', () => {
  const ready = statusOf(done())
  const cases: [string, Record<string, unknown>, Outcome | Failed, string | undefined][] = [
    ['is told when an object is first seen', {}, waiting('Scaling', 'x'), 'Normal Scaling'],
    ['is told when it becomes ready', statusOf(waiting('Scaling', 'x')), done(), 'Normal Available'],
    ['is a warning when it stalls', ready, stalled('PlanNotFound', 'x'), 'Warning PlanNotFound'],
    ['is a warning when it degrades', ready, degraded('CrashLooping', 'x'), 'Warning CrashLooping'],
    ['is a warning when it fails', ready, { kind: 'failed', message: 'x' }, 'Warning ReconcileFailed'],
    ['is not told when it stays as it is', ready, done(), undefined],
    [
      'is not told when only the message changes',
      statusOf(waiting('Scaling', '1 of 3')),
      waiting('Scaling', '2 of 3'),
      undefined,
    ],
  ]
  for (const [sentence, previous, outcome, expected] of cases) {
    it(sentence, () => {
      const change = transition(previous, statusOf(outcome, { previous }), outcome)
      expect(change && `${change.type} ${change.reason}`).to.equal(expected)
    })
  }
})
