import { expect } from 'chai'
import { phaseIndexKeys } from './phaseIndex.ts'

describe('the index of phases', () => {
  const metadata = { name: 'x' }
  const cases = [
    [
      'finds an object of ours by its phase',
      'data.freehold.dev/v1alpha1',
      { phase: 'QuotaExceeded' },
      ['QuotaExceeded'],
    ],
    ['holds nothing for one that is well', 'data.freehold.dev/v1alpha1', { status: 'Running' }, []],
    ['holds nothing for one without a status', 'data.freehold.dev/v1alpha1', undefined, []],
    [
      'finds one that is stopped, and would not have room, by that too',
      'data.freehold.dev/v1alpha1',
      {
        phase: 'Stopped',
        conditions: [{ type: 'Startable', status: 'False', reason: 'QuotaExceeded' }],
      },
      ['Stopped', 'QuotaExceeded'],
    ],
    [
      'finds one that is stopped by that alone',
      'data.freehold.dev/v1alpha1',
      { phase: 'Stopped', conditions: [{ type: 'Ready', status: 'True', reason: 'Stopped' }] },
      ['Stopped'],
    ],
    ['leaves out pods, whose phases are others', 'v1', { phase: 'Running' }, []],
  ] as const
  for (const [name, apiVersion, status, keys] of cases) {
    it(name, () => expect(phaseIndexKeys({ apiVersion, kind: 'X', metadata, status })).to.deep.equal(keys))
  }
})
