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

describe('nextStatus conditions', () => {
  const cases: [string, Outcome | Failed, object[]][] = [
    ['reports done as Ready only', done(), [condition('Ready', 'True', 'Available', '')]],
    [
      'reports done with reason Stopped as Ready with this reason',
      done({ reason: 'Stopped' }),
      [condition('Ready', 'True', 'Stopped', '')],
    ],
    [
      'reports waiting as not Ready and Reconciling',
      waiting('WaitingForWorkload', '1 of 3 peers is ready.'),
      [
        condition('Ready', 'False', 'WaitingForWorkload', '1 of 3 peers is ready.'),
        condition('Reconciling', 'True', 'WaitingForWorkload', '1 of 3 peers is ready.'),
      ],
    ],
    [
      'reports degraded as not Ready, and neither Reconciling nor Stalled',
      degraded('CrashLooping', 'Peer 2 crashes.'),
      [condition('Ready', 'False', 'CrashLooping', 'Peer 2 crashes.')],
    ],
    [
      'reports stalled as not Ready and Stalled',
      stalled('PlanNotFound', 'No plan "huge".'),
      [
        condition('Ready', 'False', 'PlanNotFound', 'No plan "huge".'),
        condition('Stalled', 'True', 'PlanNotFound', 'No plan "huge".'),
      ],
    ],
    [
      'reports failed as not Ready and Reconciling, because it is retried',
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

describe('nextStatus', () => {
  it('sets firstReadyAt once', () => {
    expect(statusOf(done()).firstReadyAt).to.equal(NOW)
    expect(statusOf(done(), { previous: { firstReadyAt: EARLIER } }).firstReadyAt).to.equal(EARLIER)
    expect(statusOf(waiting('Scaling', 'x'), { previous: {} }).firstReadyAt).to.equal(undefined)
  })

  it('returns Provisioning before the first Ready and Updating afterwards', () => {
    expect(statusOf(waiting('Scaling', 'x')).status).to.equal('Provisioning')
    expect(statusOf(waiting('Scaling', 'x'), { previous: { firstReadyAt: EARLIER } }).status).to.equal('Updating')
  })

  it('returns Degraded for a failure while serving, otherwise Failed', () => {
    expect(statusOf(stalled('QuotaExceeded', 'x'), { serving: true }).status).to.equal('Degraded')
    expect(statusOf(stalled('QuotaExceeded', 'x'), { previous: { serving: true } }).status).to.equal('Degraded')
    expect(statusOf(stalled('QuotaExceeded', 'x')).status).to.equal('Failed')
  })

  it('sets serving for done, unless it is stopped or reported otherwise', () => {
    expect(statusOf(done()).serving).to.equal(true)
    expect(statusOf(done({ reason: 'Stopped' })).serving).to.equal(false)
    expect(statusOf(done(), { serving: false }).serving).to.equal(false)
  })

  it('returns Deleting with the phase of the outcome during deletion', () => {
    const status = statusOf(waiting('TearingDown', 'Waiting for 3 claims.'), { deleting: true })
    expect(status).to.include({ status: 'Deleting', phase: 'TearingDown', statusMessage: 'Waiting for 3 claims.' })
  })

  it('keeps observedGeneration after a failure', () => {
    const failed: Failed = { kind: 'failed', message: 'x' }
    expect(statusOf(failed, { previous: { observedGeneration: 2 } }).observedGeneration).to.equal(2)
    expect(statusOf(done(), { previous: { observedGeneration: 2 } }).observedGeneration).to.equal(3)
  })

  it('takes reported fields but not those of the engine', () => {
    const status = statusOf(done(), { reported: { readyReplicas: 3, phase: 'Mine' }, previous: { readyReplicas: 1 } })
    expect(status).to.include({ readyReplicas: 3, phase: 'Available' })
  })
})

describe('statusPatch', () => {
  it('returns nothing for the same outcome at a later time', () => {
    const first = statusOf(waiting('Scaling', 'x'), { now: EARLIER })
    expect(statusPatch(first, statusOf(waiting('Scaling', 'x'), { previous: first }))).to.equal(undefined)
  })

  it('returns nothing for conditions in another order', () => {
    const first = statusOf(waiting('Scaling', 'x'))
    const turned = { ...first, conditions: [...(first.conditions as object[])].reverse() }
    expect(statusPatch(turned, first)).to.equal(undefined)
  })

  it('contains only differences, null for removed fields, and merges maps', () => {
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

describe('transition', () => {
  const ready = statusOf(done())
  const cases: [string, Record<string, unknown>, Outcome | Failed, string | undefined][] = [
    ['returns Normal for the first outcome of an object', {}, waiting('Scaling', 'x'), 'Normal Scaling'],
    ['returns Normal when it becomes ready', statusOf(waiting('Scaling', 'x')), done(), 'Normal Available'],
    ['returns Warning when it stalls', ready, stalled('PlanNotFound', 'x'), 'Warning PlanNotFound'],
    ['returns Warning when it degrades', ready, degraded('CrashLooping', 'x'), 'Warning CrashLooping'],
    ['returns Warning when it fails', ready, { kind: 'failed', message: 'x' }, 'Warning ReconcileFailed'],
    ['returns nothing for the same outcome', ready, done(), undefined],
    [
      'returns nothing if only numbers in the message change',
      statusOf(waiting('Scaling', '1 of 3')),
      waiting('Scaling', '2 of 3'),
      undefined,
    ],
    [
      'returns the cause of waiting that is found later',
      statusOf(waiting('Scaling', '0 of 3 are ready.')),
      waiting('Scaling', '0 of 3 are ready. The cluster has no storage class "fast".'),
      'Normal Scaling',
    ],
    [
      'returns another cause',
      statusOf(stalled('EngineRefused', 'It has no room.')),
      stalled('EngineRefused', 'Its image cannot be pulled.'),
      'Warning EngineRefused',
    ],
    ['returns nothing for another message of what is ready', ready, done({ message: 'All runs.' }), undefined],
  ]
  for (const [sentence, previous, outcome, expected] of cases) {
    it(sentence, () => {
      const change = transition(previous, statusOf(outcome, { previous }), outcome)
      expect(change && `${change.type} ${change.reason}`).to.equal(expected)
    })
  }
})
