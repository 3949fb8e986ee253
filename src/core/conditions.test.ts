import { expect } from 'chai'
import { type Condition, nextConditions, type ReconcileStatus, summarize, summaryOf } from './conditions.ts'
import { done } from './outcome.ts'

const condition = (type: string, status: 'True' | 'False', reason: string, message = ''): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const ready = condition('Ready', 'True', 'Available')
const waits = [
  condition('Ready', 'False', 'WaitingForPods', 'One of two runs.'),
  condition('Reconciling', 'True', 'WaitingForPods', 'One of two runs.'),
]
const stuck = [
  condition('Ready', 'False', 'PlanNotFound', 'Plan "x" does not exist.'),
  condition('Stalled', 'True', 'PlanNotFound', 'Plan "x" does not exist.'),
]
const held = [
  condition('Ready', 'False', 'DeletionBlocked', 'It holds a database.'),
  condition('Reconciling', 'True', 'DeletionBlocked', 'It holds a database.'),
]

describe('the state that callers read', () => {
  const cases: [string, ReconcileStatus | undefined, boolean, [string, string | null, string | null]][] = [
    ['of what no controller has seen', undefined, false, ['Pending', null, null]],
    ['of what works', { conditions: [ready] }, false, ['Running', 'Available', null]],
    ['of what has never worked', { conditions: waits }, false, ['Provisioning', 'WaitingForPods', 'One of two runs.']],
    [
      'of what worked before',
      { conditions: waits, firstReadyAt: '2026-01-01T00:00:00Z' },
      false,
      ['Updating', 'WaitingForPods', 'One of two runs.'],
    ],
    ['of what cannot go on', { conditions: stuck }, false, ['Failed', 'PlanNotFound', 'Plan "x" does not exist.']],
    [
      'of what cannot go on and serves all the same',
      { conditions: stuck, serving: true },
      false,
      ['Degraded', 'PlanNotFound', 'Plan "x" does not exist.'],
    ],
    [
      'of what is stopped',
      { conditions: [condition('Ready', 'True', 'Stopped')] },
      false,
      ['Stopped', 'Stopped', null],
    ],
    ['of a deletion that has just begun', { conditions: [ready] }, true, ['Deleting', 'TearingDown', null]],
    ['of a deletion that is held', { conditions: held }, true, ['Deleting', 'DeletionBlocked', 'It holds a database.']],
  ]
  for (const [title, status, isDeleting, [state, phase, statusMessage]] of cases) {
    it(title, () => expect(summarize(status, isDeleting)).to.deep.equal({ status: state, phase, statusMessage }))
  }
})

describe('the state of an object', () => {
  const told = { status: 'Updating', phase: 'Accepted' }
  const cases: [string, Condition[], { generation?: number; deletionTimestamp?: string }, object][] = [
    ['is what its controller said of it', [ready], { generation: 2 }, { status: 'Running' }],
    ['is not what was said of the intent before', [ready], { generation: 3 }, told],
    ['is not a failure of the intent before', stuck, { generation: 3 }, told],
    [
      'is what a pass of now said, which has not come to its end',
      waits,
      { generation: 2 },
      { phase: 'WaitingForPods' },
    ],
    ['is its deletion', [ready], { generation: 3, deletionTimestamp: '2026-01-02T00:00:00Z' }, { status: 'Deleting' }],
  ]
  for (const [title, found, metadata, shown] of cases)
    it(title, () => {
      const conditions = found.map((each) => ({ ...each, observedGeneration: 2 }))
      const status = { conditions, observedGeneration: 1, firstReadyAt: '2026-01-01T00:00:00Z' }
      expect(summaryOf({ metadata, status })).to.include(shown)
    })

  it('is that of what has never worked until it has', () => {
    const conditions = stuck.map((each) => ({ ...each, observedGeneration: 1 }))
    expect(summaryOf({ metadata: { generation: 2 }, status: { conditions } }).status).to.equal('Provisioning')
  })

  it('say why something that is stopped could not be started, by a code', () => {
    const hindrance = { reason: 'QuotaExceeded', message: 'The quota is used.' } as const
    const stopped = nextConditions([], done({ reason: 'Stopped', hindrance }), 1, '2026-11-01T10:00:00Z')
    expect(stopped.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).to.deep.equal([
      'Ready True Stopped',
      'Startable False QuotaExceeded',
    ])
    expect(nextConditions(stopped, done(), 1, '2026-11-01T10:00:00Z')).to.have.length(1)
  })
})
