import { expect } from 'chai'
import { buildRetryPolicy } from './retryPolicy.ts'

type Seen = { exitCodes?: readonly number[]; isDisrupted?: boolean }

/** What the Job controller of Kubernetes makes of a failed pod: the first rule that matches decides, else it counts. */
function judged({ exitCodes = [], isDisrupted = false }: Seen): 'again' | 'counts' | 'over' {
  for (const { action, onPodConditions, onExitCodes } of buildRetryPolicy().podFailurePolicy.rules) {
    const others = exitCodes.filter((code) => code !== 0 && !onExitCodes?.values.includes(code))
    if (onPodConditions !== undefined ? isDisrupted : others.length > 0) return action === 'Ignore' ? 'again' : 'over'
  }
  return 'counts'
}

describe('a pod of a build that failed', () => {
  for (const [sentence, seen, expected] of [
    ['runs again if it was evicted, drained or its node died', { exitCodes: [0, 137], isDisrupted: true }, 'again'],
    ['is the last one if its source is the cause', { exitCodes: [0, 1] }, 'over'],
    ['is the last one if it was killed for its memory', { exitCodes: [0, 137] }, 'over'],
    ['is the last one if it was stopped for what it wrote', { exitCodes: [143] }, 'over'],
    ['is followed by few more if the builder itself failed', { exitCodes: [0, 70] }, 'counts'],
    ['is followed by few more if its node started anew', { exitCodes: [0, 255] }, 'counts'],
    ['is followed by few more if its node did not take it', {}, 'counts'],
  ] as const)
    it(sentence, () => expect(judged(seen)).to.equal(expected))

  it('is followed by two at most', () => expect(buildRetryPolicy().backoffLimit).to.equal(2))
})
