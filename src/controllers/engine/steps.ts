import { earliest, type Outcome } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Pass, Step } from './pass.ts'

type Progress = { readonly step: string; readonly after: number | undefined }

/** Progress by pass, for error handling. Stored outside the pass, so that steps cannot change it. */
const progress = new WeakMap<object, Progress>()

/** Returns the name of the current step; `reconcile` before the first. */
export function currentStep(pass: object): string {
  return progress.get(pass)?.step ?? 'reconcile'
}

/** Requeues an outcome no later than the earlier steps of its pass asked for. */
export function withEarliestRequeue<O extends Outcome>(pass: object, outcome: O): O {
  return withEarlierRequeue(outcome, progress.get(pass)?.after)
}

/**
 * Runs steps in order until one is not `done`. If all are done, the last reason and message count. Requeues at the
 * earliest time that any step asked for, even if a later step ends the pass.
 */
export function steps<K extends AnyKind, State = undefined>(...list: readonly Step<K, State>[]): Step<K, State> {
  return async function runSteps(pass: Pass<K, State>): Promise<Outcome> {
    let result: Done = { kind: 'done' }
    const outerAfter = progress.get(pass)?.after
    for (const step of list) {
      progress.set(pass, { step: step.name, after: earliest(outerAfter, result.after) })
      const outcome = await step(pass)
      if (outcome.kind !== 'done') return withEarlierRequeue(outcome, result.after)
      result = merge(result, outcome)
    }
    return result
  }
}

type Done = Extract<Outcome, { kind: 'done' }>

function merge(before: Done, next: Done): Done {
  return withEarlierRequeue({ ...before, ...next }, earliest(before.after, next.after))
}

function withEarlierRequeue<O extends Outcome>(outcome: O, after: number | undefined): O {
  const due = earliest(outcome.after, after)
  return due === undefined ? outcome : { ...outcome, after: due }
}
