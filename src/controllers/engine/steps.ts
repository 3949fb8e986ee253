import { done, type Outcome } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Pass, Step } from './pass.ts'

/** Where a pass stands, for the log line of a throw. Kept beside the pass, so that steps cannot write it. */
const progress = new WeakMap<object, string>()

/** The name of the step that ran last; `reconcile` before any. */
export function currentStep(pass: object): string {
  return progress.get(pass) ?? 'reconcile'
}

/**
 * Runs steps in order. The first outcome that is not `done` ends the pass. When all are done, so is the whole: with the
 * reason and message that came last, to be looked at again at the earliest time that any step asked for.
 */
export function steps<K extends AnyKind, State = undefined>(...list: readonly Step<K, State>[]): Step<K, State> {
  return async function runSteps(pass: Pass<K, State>): Promise<Outcome> {
    let result: Extract<Outcome, { kind: 'done' }> = { kind: 'done' }
    for (const step of list) {
      progress.set(pass, step.name)
      const outcome = await step(pass)
      if (outcome.kind !== 'done') return outcome
      result = merge(result, outcome)
    }
    return result
  }
}

type Done = Extract<Outcome, { kind: 'done' }>

function merge(before: Done, next: Done): Done {
  const { kind: _, ...options } = { ...before, ...next }
  const after = Math.min(before.after ?? Number.POSITIVE_INFINITY, next.after ?? Number.POSITIVE_INFINITY)
  const merged = done(options) as Done
  return Number.isFinite(after) ? { ...merged, after } : merged
}
