import { expect } from 'chai'
import { furthestJobState, JOB_STATES, type JobState, parseVaultReference } from './jobs.ts'

describe('furthestJobState', () => {
  const cases: [string, JobState | undefined, JobState, JobState][] = [
    ['returns the first observed state', undefined, 'Running', 'Running'],
    ['moves from Pending to Running', 'Pending', 'Running', 'Running'],
    ['moves from Pending to Succeeded', 'Pending', 'Succeeded', 'Succeeded'],
    ['does not move back to Pending when pods are deleted', 'Running', 'Pending', 'Running'],
    ['keeps Succeeded when pods are deleted', 'Succeeded', 'Pending', 'Succeeded'],
    ['keeps the first result', 'TimedOut', 'Failed', 'TimedOut'],
    ['does not move from Failed to Succeeded', 'Failed', 'Succeeded', 'Failed'],
  ]
  for (const [title, before, now, expected] of cases) {
    it(title, () => expect(furthestJobState(before, now)).to.equal(expected))
  }

  it('never moves back, in any order of observations', () => {
    for (const a of JOB_STATES)
      for (const b of JOB_STATES)
        for (const c of JOB_STATES) {
          const [second, third] = [furthestJobState(a, b), furthestJobState(furthestJobState(a, b), c)]
          expect(JOB_STATES.indexOf(second)).to.be.at.least(JOB_STATES.indexOf(a))
          expect(JOB_STATES.indexOf(third)).to.be.at.least(JOB_STATES.indexOf(second))
        }
  })
})

describe('parseVaultReference', () => {
  const cases: [string, { vault: string; secret: string } | undefined][] = [
    ['@vault(keys/Token-1)', { vault: 'keys', secret: 'Token-1' }],
    ['plain', undefined],
    ['@vault(keys)', undefined],
    ['@vault(keys/token/x)', undefined],
    ['@vault(keys/token) and more', undefined],
    ['@vault(../token)', undefined],
  ]
  for (const [text, expected] of cases) {
    it(`${expected === undefined ? 'rejects' : 'accepts'} ${JSON.stringify(text)}`, () =>
      expect(parseVaultReference(text)).to.deep.equal(expected))
  }
})
