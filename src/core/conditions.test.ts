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

describe('summarize', () => {
  const cases: [string, ReconcileStatus | undefined, boolean, [string, string | null, string | null]][] = [
    ['returns Pending without a status', undefined, false, ['Pending', null, null]],
    ['returns Running for Ready=True', { conditions: [ready] }, false, ['Running', 'Available', null]],
    [
      'returns Provisioning before the first success',
      { conditions: waits },
      false,
      ['Provisioning', 'WaitingForPods', 'One of two runs.'],
    ],
    [
      'returns Updating after a success',
      { conditions: waits, firstReadyAt: '2026-01-01T00:00:00Z' },
      false,
      ['Updating', 'WaitingForPods', 'One of two runs.'],
    ],
    [
      'returns Failed if it is stalled',
      { conditions: stuck },
      false,
      ['Failed', 'PlanNotFound', 'Plan "x" does not exist.'],
    ],
    [
      'returns Degraded if it is stalled and serves',
      { conditions: stuck, serving: true },
      false,
      ['Degraded', 'PlanNotFound', 'Plan "x" does not exist.'],
    ],
    ['returns Stopped', { conditions: [condition('Ready', 'True', 'Stopped')] }, false, ['Stopped', 'Stopped', null]],
    ['returns Deleting for a new deletion', { conditions: [ready] }, true, ['Deleting', 'TearingDown', null]],
    [
      'returns Deleting with the reason that blocks the deletion',
      { conditions: held },
      true,
      ['Deleting', 'DeletionBlocked', 'It holds a database.'],
    ],
  ]
  for (const [title, status, isDeleting, [state, phase, statusMessage]] of cases) {
    it(title, () => expect(summarize(status, isDeleting)).to.deep.equal({ status: state, phase, statusMessage }))
  }
})

describe('summaryOf and nextConditions', () => {
  const updating = { status: 'Updating', phase: 'Accepted' }
  const cases: [string, Condition[], { generation?: number; deletionTimestamp?: string }, object][] = [
    ['return the state of the current generation', [ready], { generation: 2 }, { status: 'Running' }],
    ['return Updating while the generation is not observed', [ready], { generation: 3 }, updating],
    ['return Updating instead of a failure of an earlier generation', stuck, { generation: 3 }, updating],
    [
      'return the phase of an unfinished pass over the current generation',
      waits,
      { generation: 2 },
      { phase: 'WaitingForPods' },
    ],
    [
      'return Deleting during the deletion',
      [ready],
      { generation: 3, deletionTimestamp: '2026-01-02T00:00:00Z' },
      { status: 'Deleting' },
    ],
  ]
  for (const [title, found, metadata, shown] of cases)
    it(title, () => {
      const conditions = found.map((each) => ({ ...each, observedGeneration: 2 }))
      const status = { conditions, observedGeneration: 1, firstReadyAt: '2026-01-01T00:00:00Z' }
      expect(summaryOf({ metadata, status })).to.include(shown)
    })

  it('return Provisioning until the first success', () => {
    const conditions = stuck.map((each) => ({ ...each, observedGeneration: 1 }))
    expect(summaryOf({ metadata: { generation: 2 }, status: { conditions } }).status).to.equal('Provisioning')
  })

  it('report in Startable why a stopped resource could not start', () => {
    const startObstacle = { reason: 'QuotaExceeded', message: 'The quota is used.' } as const
    const stopped = nextConditions([], done({ reason: 'Stopped', startObstacle }), 1, '2026-11-01T10:00:00Z')
    expect(stopped.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).to.deep.equal([
      'Ready True Stopped',
      'Startable False QuotaExceeded',
    ])
    expect(nextConditions(stopped, done(), 1, '2026-11-01T10:00:00Z')).to.have.length(1)
  })
})
