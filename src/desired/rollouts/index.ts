import { SNAPSHOT_TIMEOUT_MS } from '../../contracts/rollouts/states.ts'
import { activeBatch, numberOf } from './batches.ts'
import type { BatchComponent, Execution } from './types.ts'

export { batchesOfPlan, rollbackOf } from './batches.ts'
export { nextExecution } from './next.ts'
export type { Execution, ObservedComponent, RolloutObservation } from './types.ts'

/** An observation that is expensive and only made when `nextExecution` needs it. */
export type ObservationKind = 'preflight' | 'snapshot' | 'drift' | 'checks'

/** Returns the observation that `nextExecution` needs beyond the caches. */
export function neededObservation(execution: Execution, now: number): ObservationKind | undefined {
  if (execution.state !== 'Executing') return undefined
  if (execution.step === 'Preflight') return 'preflight'
  if (execution.step === 'Snapshot') return 'snapshot'
  const batch = activeBatch(execution)
  if (batch?.state === 'Pending') return 'drift'
  return batch?.checkAt !== undefined && now >= Date.parse(batch.checkAt) ? 'checks' : undefined
}

/**
 * Returns the components whose version must be applied. It reads the stored state, so a process that takes over after a
 * crash applies the same.
 */
export function componentsToApply(execution: Execution): readonly BatchComponent[] {
  const batch = execution.state === 'Executing' ? activeBatch(execution) : undefined
  return batch?.components.filter(({ state }) => state === 'Applying') ?? []
}

/** Returns the milliseconds until time alone changes the state. */
export function wakesIn(execution: Execution, now: number): number | undefined {
  if (execution.state !== 'Executing') return undefined
  const { snapshot, step } = execution
  const limit =
    step === 'Snapshot' && snapshot !== undefined
      ? Date.parse(snapshot.startedAt ?? '') + SNAPSHOT_TIMEOUT_MS
      : undefined
  const batch = activeBatch(execution)
  const times = [
    limit,
    ...[batch?.checkAt ?? batch?.deadlineAt].map((at) => (at === undefined ? undefined : Date.parse(at))),
  ]
  const soonest = Math.min(...times.filter((at) => at !== undefined))
  return Number.isFinite(soonest) ? Math.max(soonest - now, 1) : undefined
}

/** Returns the message for the condition of a rollout in progress. */
export function describeExecution(execution: Execution): string {
  const { pause, step, state } = execution
  if (state === 'Paused') return `${pause?.code ?? 'Paused'}: ${pause?.message ?? 'it waits for a decision.'}`
  const batch = activeBatch(execution)
  if (step === 'Preflight') return 'The checks before the rollout run.'
  if (step === 'Snapshot') return 'A snapshot is taken before the first batch.'
  if (batch === undefined) return 'Every batch is done; the components are checked once more.'
  const names = batch.components.map(({ name }) => name).join(', ')
  return `Batch ${numberOf(batch)} of ${execution.batches.length}: ${names}.`.slice(0, 1024)
}
