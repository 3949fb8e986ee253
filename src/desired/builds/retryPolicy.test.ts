import { expect } from 'chai'
import { buildRetryPolicy } from './retryPolicy.ts'

type Seen = { exitCodes?: readonly number[]; isDisrupted?: boolean }

/** The decision of the Job controller about a failed pod: the first matching rule, otherwise the pod counts. */
function judged({ exitCodes = [], isDisrupted = false }: Seen): 'again' | 'counts' | 'over' {
  for (const { action, onPodConditions, onExitCodes } of buildRetryPolicy().podFailurePolicy.rules) {
    const others = exitCodes.filter((code) => code !== 0 && !onExitCodes?.values.includes(code))
    if (onPodConditions !== undefined ? isDisrupted : others.length > 0) return action === 'Ignore' ? 'again' : 'over'
  }
  return 'counts'
}

describe('buildRetryPolicy', () => {
  for (const [sentence, seen, expected] of [
    [
      'ignores a pod that was evicted, drained or lost with its node',
      { exitCodes: [0, 137], isDisrupted: true },
      'again',
    ],
    ['fails the Job if the source caused the failure', { exitCodes: [0, 1] }, 'over'],
    ['fails the Job after an OOM kill', { exitCodes: [0, 137] }, 'over'],
    ['fails the Job after SIGTERM for exceeded disk', { exitCodes: [143] }, 'over'],
    ['counts a failure of the builder', { exitCodes: [0, 70] }, 'counts'],
    ['counts a pod whose node restarted', { exitCodes: [0, 255] }, 'counts'],
    ['counts a pod that its node rejected', {}, 'counts'],
  ] as const)
    it(sentence, () => expect(judged(seen)).to.equal(expected))

  it('allows two retries', () => expect(buildRetryPolicy().backoffLimit).to.equal(2))
})
