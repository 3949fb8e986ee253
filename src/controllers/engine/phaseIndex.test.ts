import { expect } from 'chai'
import { phaseIndexKeys } from './phaseIndex.ts'

describe('phaseIndexKeys', () => {
  const metadata = { name: 'x' }
  const cases = [
    [
      'returns the phase of an object of ours',
      'data.freehold.dev/v1alpha1',
      { phase: 'QuotaExceeded' },
      ['QuotaExceeded'],
    ],
    ['returns nothing for an object without a phase', 'data.freehold.dev/v1alpha1', { status: 'Running' }, []],
    ['returns nothing for an object without a status', 'data.freehold.dev/v1alpha1', undefined, []],
    [
      'returns Stopped and the reason of Startable for a stopped object that exceeds a quota',
      'data.freehold.dev/v1alpha1',
      {
        phase: 'Stopped',
        conditions: [{ type: 'Startable', status: 'False', reason: 'QuotaExceeded' }],
      },
      ['Stopped', 'QuotaExceeded'],
    ],
    [
      'returns Stopped for a stopped object that could start',
      'data.freehold.dev/v1alpha1',
      { phase: 'Stopped', conditions: [{ type: 'Ready', status: 'True', reason: 'Stopped' }] },
      ['Stopped'],
    ],
    ['returns nothing for pods, whose phases differ', 'v1', { phase: 'Running' }, []],
  ] as const
  for (const [name, apiVersion, status, keys] of cases) {
    it(name, () => expect(phaseIndexKeys({ apiVersion, kind: 'X', metadata, status })).to.deep.equal(keys))
  }
})
