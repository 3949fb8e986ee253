import { SNAPSHOT_LIMIT } from '../../contracts/rollouts/states.ts'
import { batchUnderWay, numberOf } from './batches.ts'
import type { Execution, Rolled } from './types.ts'

export { batchesOfPlan, rollbackOf } from './batches.ts'
export { next } from './next.ts'
export type { Execution, Observed, SeenComponent } from './types.ts'

/** An observation that is expensive and only made when `next` needs it. */
export type Look = 'preflight' | 'snapshot' | 'drift' | 'checks'

/** Returns the observation that `next` needs beyond the caches. */
export function looksFor(execution: Execution, now: number): Look | undefined {
  if (execution.state !== 'Executing') return undefined
  if (execution.step === 'Preflight') return 'preflight'
  if (execution.step === 'Snapshot') return 'snapshot'
  const batch = batchUnderWay(execution)
  if (batch?.state === 'Pending') return 'drift'
  return batch?.checkAt !== undefined && now >= Date.parse(batch.checkAt) ? 'checks' : undefined
}

/**
 * Returns the components whose version must be applied. It reads the stored state, so a process that takes over after a
 * crash applies the same.
 */
export function toldBy(execution: Execution): readonly Rolled[] {
  const batch = execution.state === 'Executing' ? batchUnderWay(execution) : undefined
  return batch?.components.filter(({ state }) => state === 'Applying') ?? []
}

/** Returns the milliseconds until time alone changes the state. */
export function wakesIn(execution: Execution, now: number): number | undefined {
  if (execution.state !== 'Executing') return undefined
  const { snapshot, step } = execution
  const limit =
    step === 'Snapshot' && snapshot !== undefined ? Date.parse(snapshot.startedAt ?? '') + SNAPSHOT_LIMIT : undefined
  const batch = batchUnderWay(execution)
  const times = [
    limit,
    ...[batch?.checkAt ?? batch?.deadlineAt].map((at) => (at === undefined ? undefined : Date.parse(at))),
  ]
  const soonest = Math.min(...times.filter((at) => at !== undefined))
  return Number.isFinite(soonest) ? Math.max(soonest - now, 1) : undefined
}

/** Returns the message for the condition of a rollout in progress. */
export function sentenceOf(execution: Execution): string {
  const { pause, step, state } = execution
  if (state === 'Paused') return `${pause?.code ?? 'Paused'}: ${pause?.message ?? 'it waits for a decision.'}`
  const batch = batchUnderWay(execution)
  if (step === 'Preflight') return 'The checks before the rollout run.'
  if (step === 'Snapshot') return 'A snapshot is taken before the first batch.'
  if (batch === undefined) return 'Every batch is done; the components are checked once more.'
  const names = batch.components.map(({ name }) => name).join(', ')
  return `Batch ${numberOf(batch)} of ${execution.batches.length}: ${names}.`.slice(0, 1024)
}
