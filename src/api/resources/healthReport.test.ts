import { expect } from 'chai'
import { type Check, check, healthReport } from './healthReport.ts'

describe('a report of health', () => {
  const ill = check('Engine', 'Unhealthy', 'It is ill.')
  const slow = check('Replicas', 'Degraded', 'One is late.')
  const dark = check('Disk', 'Unknown', 'Nobody knows.')
  const cases: [string, Check[], [string, string | null]][] = [
    ['is as bad as the worst check, and says what that says', [slow, dark, ill], ['Unhealthy', 'It is ill.']],
    ['says what the first of several says', [check('Pod', 'Degraded', 'Pods.'), slow], ['Degraded', 'Pods.']],
    ['is good if what is known is good', [dark, check('Pod', 'Healthy')], ['Healthy', null]],
    ['is unknown only if nothing is known', [dark], ['Unknown', 'Nobody knows.']],
  ]
  for (const [title, checks, expected] of cases) {
    it(title, () => {
      const { status, message, checks: told } = healthReport('2026-11-29T00:00:00Z', checks)
      expect([status, message]).to.deep.equal(expected)
      expect(told.map(({ observedAt }) => observedAt)).to.deep.equal(checks.map(() => '2026-11-29T00:00:00Z'))
    })
  }
})
