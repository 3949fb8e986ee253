import { expect } from 'chai'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { Pass, Step } from './controller.ts'
import { currentStep, steps } from './steps.ts'

describe('steps', () => {
  const pass = {} as Pass
  const run = (...outcomes: Outcome[]) =>
    steps(
      ...outcomes.map(
        (outcome): Step =>
          () =>
            outcome,
      ),
    )(pass)

  it('end with the first outcome that is not done', async () => {
    const seen: string[] = []
    const step = (name: string, outcome: Outcome): Step => {
      return () => {
        seen.push(name)
        return outcome
      }
    }
    const list = steps(step('a', done()), step('b', stalled('PlanNotFound', 'x')), step('c', done()))
    expect(await list(pass)).to.deep.equal(stalled('PlanNotFound', 'x'))
    expect(seen).to.deep.equal(['a', 'b'])
  })

  it('come again at the earliest time that any of them asked for', async () => {
    expect(await run(done({ after: 9 }), done({ after: 4 }), done())).to.deep.equal({ kind: 'done', after: 4 })
  })

  it('come again at the time that an earlier one asked for, however the pass ends', async () => {
    expect(await run(done({ after: 4 }), stalled('PlanNotFound', 'x'))).to.deep.equal(stalled('PlanNotFound', 'x', 4))
    expect(await run(done({ after: 9 }), degraded('PartiallyAvailable', 'x', 5))).to.include({ after: 5 })
    expect(await run(done({ after: 4 }), waiting('Building', 'x', 5))).to.include({ after: 4 })
  })

  it('are done for the last reason that was given', async () => {
    expect(await run(done(), done({ reason: 'Stopped', message: 'm' }), done())).to.deep.equal({
      kind: 'done',
      reason: 'Stopped',
      message: 'm',
    })
  })

  it('leave the name of the one that threw', async () => {
    const mine = {} as Pass
    await Promise.resolve(
      steps(function applyWorkload(): Outcome {
        throw new Error('x')
      })(mine),
    ).catch(() => {})
    expect(currentStep(mine)).to.equal('applyWorkload')
  })
})
