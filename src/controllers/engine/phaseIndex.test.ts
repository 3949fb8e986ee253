import { expect } from 'chai'
import { quotaSentence } from '../../core/sizing/quota.ts'
import { phaseIndexKeys } from './phaseIndex.ts'

const FULL = {
  kind: 'exceeded',
  at: 'boundary',
  quota: 'storage',
  limit: '1Gi',
  used: '1Gi',
  requested: '1Gi',
} as const

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
        statusMessage: `It is stopped. ${quotaSentence(FULL)}`,
      },
      ['Stopped', 'QuotaExceeded'],
    ],
    [
      'finds one that is stopped by that alone',
      'data.freehold.dev/v1alpha1',
      { phase: 'Stopped', statusMessage: 'It is stopped.' },
      ['Stopped'],
    ],
    ['leaves out pods, whose phases are others', 'v1', { phase: 'Running' }, []],
  ] as const
  for (const [name, apiVersion, status, keys] of cases) {
    it(name, () => expect(phaseIndexKeys({ apiVersion, kind: 'X', metadata, status })).to.deep.equal(keys))
  }
})
