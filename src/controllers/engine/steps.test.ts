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

  it('stops at the first outcome that is not done', async () => {
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

  it('returns the earliest requeue of all steps', async () => {
    expect(await run(done({ after: 9 }), done({ after: 4 }), done())).to.deep.equal({ kind: 'done', after: 4 })
  })

  it('keeps an earlier requeue for outcomes other than done', async () => {
    expect(await run(done({ after: 4 }), stalled('PlanNotFound', 'x'))).to.deep.equal(stalled('PlanNotFound', 'x', 4))
    expect(await run(done({ after: 9 }), degraded('PartiallyAvailable', 'x', 5))).to.include({ after: 5 })
    expect(await run(done({ after: 4 }), waiting('Building', 'x', 5))).to.include({ after: 4 })
  })

  it('returns the last reason of the done steps', async () => {
    expect(await run(done(), done({ reason: 'Stopped', message: 'm' }), done())).to.deep.equal({
      kind: 'done',
      reason: 'Stopped',
      message: 'm',
    })
  })

  it('records the name of a step that threw', async () => {
    const mine = {} as Pass
    await Promise.resolve(
      steps(function applyWorkload(): Outcome {
        throw new Error('x')
      })(mine),
    ).catch(() => {})
    expect(currentStep(mine)).to.equal('applyWorkload')
  })
})
