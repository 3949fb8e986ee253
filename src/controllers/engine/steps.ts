import { earliest, type Outcome } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Pass, Step } from './pass.ts'

type Progress = { readonly step: string; readonly after: number | undefined }

/** The progress of a pass, for the handler of errors of steps. Kept beside the pass, so that steps cannot write it. */
const progress = new WeakMap<object, Progress>()

/** The name of the step that ran last; `reconcile` before any. */
export function currentStep(pass: object): string {
  return progress.get(pass)?.step ?? 'reconcile'
}

/** The outcome that a pass ends with, looked at again no later than its steps before asked for. */
export function inTime<O extends Outcome>(pass: object, outcome: O): O {
  return sooner(outcome, progress.get(pass)?.after)
}

/**
 * Runs steps in order. The first outcome that is not `done` ends the pass. When all are done, so is the whole: with the
 * reason and message that came last. Either way it is looked at again at the earliest time that any step asked for: what
 * stops a later step does not stop the time.
 */
export function steps<K extends AnyKind, State = undefined>(...list: readonly Step<K, State>[]): Step<K, State> {
  return async function runSteps(pass: Pass<K, State>): Promise<Outcome> {
    let result: Done = { kind: 'done' }
    const around = progress.get(pass)?.after
    for (const step of list) {
      progress.set(pass, { step: step.name, after: earliest(around, result.after) })
      const outcome = await step(pass)
      if (outcome.kind !== 'done') return sooner(outcome, result.after)
      result = merge(result, outcome)
    }
    return result
  }
}

type Done = Extract<Outcome, { kind: 'done' }>

function merge(before: Done, next: Done): Done {
  return sooner({ ...before, ...next }, earliest(before.after, next.after))
}

function sooner<O extends Outcome>(outcome: O, after: number | undefined): O {
  const due = earliest(outcome.after, after)
  return due === undefined ? outcome : { ...outcome, after: due }
}
