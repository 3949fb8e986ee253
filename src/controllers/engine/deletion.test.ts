import { expect } from 'chai'
import { type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { withDeadline } from './deletion.ts'

describe('withDeadline', () => {
  const at = (minutes: number) => Date.UTC(2026, 0, 1, 0, minutes)
  const run = (outcome: Outcome, minutes: number) => withDeadline(outcome, '2026-01-01T00:00:00Z', at(minutes))

  it('adds the deadline to a wait and requeues at it', () => {
    expect(run(waiting('TearingDown', 'Waiting for 2 claims.'), 4)).to.deep.equal(
      waiting('TearingDown', 'Waiting for 2 claims. Expected by 2026-01-01T00:10:00Z.', 360_000),
    )
  })

  it('returns DeletionBlocked with the cause after the deadline', () => {
    expect(run(waiting('TearingDown', 'Waiting for 2 claims.'), 10)).to.deep.equal(
      waiting('DeletionBlocked', 'Waiting for 2 claims. It was expected by 2026-01-01T00:10:00Z.'),
    )
  })

  it('keeps an earlier requeue of the step and outcomes other than waiting', () => {
    expect(run(waiting('TearingDown', 'x', 1_000), 4)).to.include({ after: 1_000 })
    expect(run(stalled('EngineMissing', 'x'), 11)).to.deep.equal(stalled('EngineMissing', 'x'))
  })
})
