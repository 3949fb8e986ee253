import { expect } from 'chai'
import { type Check, check, healthReport } from './healthReport.ts'

describe('healthReport', () => {
  const ill = check('Engine', 'Unhealthy', 'It is ill.')
  const slow = check('Replicas', 'Degraded', 'One is late.')
  const dark = check('Disk', 'Unknown', 'Nobody knows.')
  const cases: [string, Check[], [string, string | null]][] = [
    ['has status and message of the worst check', [slow, dark, ill], ['Unhealthy', 'It is ill.']],
    [
      'has the message of the first of several equal checks',
      [check('Pod', 'Degraded', 'Pods.'), slow],
      ['Degraded', 'Pods.'],
    ],
    ['is Healthy if all known checks are', [dark, check('Pod', 'Healthy')], ['Healthy', null]],
    ['is Unknown only if all checks are', [dark], ['Unknown', 'Nobody knows.']],
  ]
  for (const [title, checks, expected] of cases) {
    it(title, () => {
      const { status, message, checks: reported } = healthReport('2026-11-29T00:00:00Z', checks)
      expect([status, message]).to.deep.equal(expected)
      expect(reported.map(({ observedAt }) => observedAt)).to.deep.equal(checks.map(() => '2026-11-29T00:00:00Z'))
    })
  }
})
