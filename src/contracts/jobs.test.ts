import { expect } from 'chai'
import { furthestJobState, JOB_STATES, type JobState, parseVaultReference } from './jobs.ts'

describe('the state of a job', () => {
  const cases: [string, JobState | undefined, JobState, JobState][] = [
    ['begins with what is seen first', undefined, 'Running', 'Running'],
    ['goes from Pending to Running', 'Pending', 'Running', 'Running'],
    ['goes from Pending to its end if nobody saw it run', 'Pending', 'Succeeded', 'Succeeded'],
    ['does not go back to Pending if its pods are gone', 'Running', 'Pending', 'Running'],
    ['keeps its result if its pods are gone', 'Succeeded', 'Pending', 'Succeeded'],
    ['keeps its first result', 'TimedOut', 'Failed', 'TimedOut'],
    ['does not turn from failed to succeeded', 'Failed', 'Succeeded', 'Failed'],
  ]
  for (const [title, before, now, expected] of cases) {
    it(title, () => expect(furthestJobState(before, now)).to.equal(expected))
  }

  it('never goes back, whatever is seen in whatever order', () => {
    for (const a of JOB_STATES)
      for (const b of JOB_STATES)
        for (const c of JOB_STATES) {
          const [second, third] = [furthestJobState(a, b), furthestJobState(furthestJobState(a, b), c)]
          expect(JOB_STATES.indexOf(second)).to.be.at.least(JOB_STATES.indexOf(a))
          expect(JOB_STATES.indexOf(third)).to.be.at.least(JOB_STATES.indexOf(second))
        }
  })
})

describe('a vault reference', () => {
  const cases: [string, { vault: string; secret: string } | undefined][] = [
    ['@vault(keys/Token-1)', { vault: 'keys', secret: 'Token-1' }],
    ['plain', undefined],
    ['@vault(keys)', undefined],
    ['@vault(keys/token/x)', undefined],
    ['@vault(keys/token) and more', undefined],
    ['@vault(../token)', undefined],
  ]
  for (const [text, expected] of cases) {
    it(`${JSON.stringify(text)} ${expected === undefined ? 'is none' : 'names a secret'}`, () =>
      expect(parseVaultReference(text)).to.deep.equal(expected))
  }
})
