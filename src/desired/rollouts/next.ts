import {
  BATCH_CHECK_DELAY_MS,
  type BatchKind,
  isRolloutOver,
  type PauseCode,
  type RolloutPhase,
  SNAPSHOT_TIMEOUT_MS,
} from '../../contracts/rollouts/states.ts'
import { timestamp } from '../../core/clock.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { activeBatch, endExecution, maySkipSnapshot, numberOf, updateBatch } from './batches.ts'
import type { Batch, Execution, ExecutionPause, RolloutObservation } from './types.ts'

const PHASE_OF: Readonly<Record<BatchKind, RolloutPhase>> = {
  ThirdPartyChart: 'ThirdPartyCharts',
  CrdBundle: 'CrdBundle',
  PlatformStep: 'PlatformStep',
  LifecycleModule: 'LifecycleModule',
  Components: 'Components',
}

/**
 * Returns the next state of a rollout (interface section 3). Repeated until nothing changes, it ends where the rollout
 * waits for the cluster, a person or time.
 *
 * Preflight -> Snapshot -> each batch -> Verification -> Finished; from everywhere to Paused and back, Failed,
 * Cancelled.
 *
 * @param now milliseconds since the epoch
 */
export function nextExecution(execution: Execution, seen: RolloutObservation, now: number): Execution {
  if (isRolloutOver(execution.state)) return execution
  const { requests } = seen
  if (requests.cancelAt !== undefined) return cancelExecution(execution, seen, now)
  if (execution.state === 'Paused') return fromPause(execution, seen, now)
  return advanceStep(execution, seen, now)
}

function advanceStep(execution: Execution, seen: RolloutObservation, now: number): Execution {
  if (seen.refusal !== undefined)
    return pauseExecution(execution, seen, { code: 'ClusterRefused', message: seen.refusal })
  switch (execution.step) {
    case 'Preflight':
      return fromPreflight(execution, seen, now)
    case 'Snapshot':
      return fromSnapshot(execution, seen, now)
    case 'Verification':
      return fromVerification(execution, seen, now)
    default:
      return fromBatches(execution, seen, now)
  }
}

function fromPreflight(
  execution: Execution,
  { preflight, startedBy = '' }: RolloutObservation,
  now: number,
): Execution {
  if (preflight === undefined) return execution
  const { report, refusal, acknowledged } = preflight
  const checked = { ...execution, preflight: report }
  // Failed checks do not stop a rollback.
  if (refusal !== undefined && execution.kind !== 'Rollback') return failExecution(checked, refusal, now)
  const overrides = acknowledged.map((detail) => ({
    kind: 'AcknowledgedFailure' as const,
    ...{ by: startedBy, at: timestamp(now), detail },
  }))
  const overridden = { ...checked, overrides: [...(execution.overrides ?? []), ...overrides] }
  // A rollback, or a change of the backup target, must not depend on working backups.
  if (execution.kind === 'Rollback' || execution.kind === 'Target') return toNextBatch(overridden)
  if (acknowledged.includes('snapshot-possible') && maySkipSnapshot(execution)) {
    return toNextBatch(withSkippedSnapshot(overridden, startedBy, now))
  }
  return { ...overridden, step: 'Snapshot' }
}

function withSkippedSnapshot(execution: Execution, by: string, now: number): Execution {
  const override = { kind: 'SkipSnapshot' as const, by, at: timestamp(now), detail: execution.snapshot?.name ?? '' }
  return { ...execution, overrides: [...(execution.overrides ?? []), override] }
}

function fromSnapshot(execution: Execution, seen: RolloutObservation, now: number): Execution {
  const { snapshot, snapshotName } = seen
  const { snapshot: before } = execution
  // Store the name before the Backup is created.
  if (before === undefined) {
    return { ...execution, snapshot: { name: snapshotName, phase: 'New', startedAt: timestamp(now) } }
  }
  const { phase = before.phase, completedAt, problem } = snapshot
  const looked = { ...execution, snapshot: { ...before, phase, ...(completedAt !== undefined && { completedAt }) } }
  if (phase === 'Completed') return toNextBatch(looked)
  const isLate = now >= Date.parse(before.startedAt ?? '') + SNAPSHOT_TIMEOUT_MS
  const message = problem ?? (isLate ? `The snapshot "${before.name}" did not complete within 30 minutes.` : undefined)
  if (message === undefined) return looked
  return pauseExecution(looked, seen, { code: 'SnapshotFailed', message, canSkipSnapshot: maySkipSnapshot(execution) })
}

/** Moves to the next batch, or to the verification after the last one. */
function toNextBatch(execution: Execution): Execution {
  const batch = activeBatch(execution)
  if (batch === undefined) return { ...execution, step: 'Verification' }
  return { ...execution, step: execution.kind === 'Rollback' ? 'RollingBack' : PHASE_OF[batch.kind] }
}

function withBatch(execution: Execution, batch: Batch): Execution {
  return { ...execution, batches: execution.batches.map((one) => (one.index === batch.index ? batch : one)) }
}

function fromBatches(execution: Execution, seen: RolloutObservation, now: number): Execution {
  const batch = activeBatch(execution)
  if (batch === undefined) return toNextBatch(execution)
  if (batch.state === 'Pending') return beginBatch(execution, batch, seen, now)
  if (batch.checkAt !== undefined) return concludeCheck(execution, batch, seen, now)
  const looked = updateBatch(batch, seen, now)
  const found = looked.components.find(({ state }) => state === 'Failed')
  if (found !== undefined) {
    const code = seen.findComponent(found.name)?.isInstalled === true ? 'HealthFailed' : 'ComponentFailed'
    const message = found.message ?? `${found.name} ${found.toVersion} failed.`
    return pauseExecution(withBatch(execution, looked), seen, { code, message, component: found.name })
  }
  if (looked.components.every(({ state }) => state === 'Ready' || state === 'Unchanged')) {
    if (batch.kind !== 'ThirdPartyChart' || execution.kind === 'Rollback') return finishBatch(execution, looked, now)
    return withBatch(execution, { ...looked, checkAt: timestamp(now + BATCH_CHECK_DELAY_MS) })
  }
  const isLate = now >= Date.parse(looked.deadlineAt ?? '')
  return isLate ? failTimedOut(execution, looked, now) : withBatch(execution, looked)
}

function beginBatch(execution: Execution, batch: Batch, seen: RolloutObservation, now: number): Execution {
  const { drift, findComponent } = seen
  if (drift === undefined) return execution
  if (drift.length > 0) {
    const message = `${pluralize(drift.length, 'field')} of ${batch.components.map(({ name }) => name).join(', ')} ${pluralizeVerb(drift.length, 'was', 'were')} changed by hand.`
    return pauseExecution(execution, seen, { code: 'PlatformDrift', message, platformDrift: drift })
  }
  const startedAt = timestamp(now)
  const components = batch.components.map((one) => {
    const isAtVersion = execution.kind !== 'Target' && findComponent(one.name)?.currentVersion === one.toVersion
    // A failed earlier attempt at the same version does not count: ask Flux again.
    const isTriedBefore = !isAtVersion && findComponent(one.name, one)?.state === 'Failed'
    const state = isAtVersion ? ('Unchanged' as const) : ('Applying' as const)
    return { ...one, state, startedAt, ...(isTriedBefore && { requestedAt: startedAt }) }
  })
  return withBatch(execution, {
    ...batch,
    state: 'Applying',
    components,
    startedAt,
    deadlineAt: deadlineOf(batch, now),
  })
}

const deadlineOf = ({ timeLimitMinutes }: Batch, now: number) => timestamp(now + timeLimitMinutes * 60_000)

function concludeCheck(execution: Execution, batch: Batch, seen: RolloutObservation, now: number): Execution {
  const { worsened } = seen
  if (now < Date.parse(batch.checkAt ?? '') || worsened === undefined) return execution
  if (worsened.length === 0) return finishBatch(execution, batch, now)
  const message = `After this chart, checks are worse than before: ${worsened.join(', ')}.`
  return pauseExecution(execution, seen, { code: 'BatchCheckWorsened', message })
}

function finishBatch(execution: Execution, batch: Batch, now: number): Execution {
  const { checkAt: _, ...rest } = batch
  return toNextBatch(withBatch(execution, { ...rest, state: 'Succeeded', finishedAt: timestamp(now) }))
}

function failTimedOut(execution: Execution, batch: Batch, now: number): Execution {
  const pendingComponent = batch.components.find(({ state }) => state === 'Applying')
  const failedBatch = withBatch(execution, { ...batch, state: 'Failed', finishedAt: timestamp(now) })
  const message = `Batch ${numberOf(batch)} did not finish within ${batch.timeLimitMinutes} minutes; ${pendingComponent?.name ?? 'a component'} is not ready.`
  return failExecution(failedBatch, { code: 'BatchTimeout', message, component: pendingComponent?.name }, now)
}

function fromVerification(execution: Execution, seen: RolloutObservation, now: number): Execution {
  const { findComponent } = seen
  const rolled = execution.batches.flatMap(({ components }) => components)
  const unhealthy = rolled.find((one) => findComponent(one.name, one)?.isHealthy !== true)
  if (unhealthy !== undefined) {
    const message = findComponent(unhealthy.name, unhealthy)?.message ?? `${unhealthy.name} is not healthy.`
    return pauseExecution(execution, seen, { code: 'HealthFailed', message, component: unhealthy.name })
  }
  const step = rolled.find(({ name }) => findComponent(name)?.kind === 'PlatformStep')
  const release = execution.kind === 'Release' && step !== undefined ? { release: step.toVersion } : {}
  return endExecution({ ...execution, ...release, state: 'Succeeded', step: 'Finished', finishedAt: timestamp(now) })
}

/** Maximum length of a message in the status. */
const MAX_MESSAGE_LENGTH = 1024

type PauseCause = { code: PauseCode; message: string; component?: string } & Partial<
  Pick<ExecutionPause, 'canSkipSnapshot' | 'platformDrift'>
>

/** Requests made before the pause do not end it. */
function pauseExecution(
  execution: Execution,
  { requests: { resumeAt, revertDriftAt } }: RolloutObservation,
  cause: PauseCause,
): Execution {
  const batch = isInBatch(execution) ? activeBatch(execution) : undefined
  const pause: ExecutionPause = {
    canSkipSnapshot: false,
    platformDrift: [],
    ...cause,
    message: cause.message.slice(0, MAX_MESSAGE_LENGTH),
    ...(batch !== undefined && { batchIndex: batch.index }),
  }
  const held = batch === undefined ? execution : withBatch(execution, { ...batch, state: 'Paused' })
  return {
    ...held,
    state: 'Paused',
    pause,
    ...(resumeAt !== undefined && { resumedAt: resumeAt }),
    ...(revertDriftAt !== undefined && { revertedAt: revertDriftAt }),
  }
}

const isInBatch = ({ step }: Execution) => step !== 'Preflight' && step !== 'Snapshot' && step !== 'Verification'

function failExecution(execution: Execution, failure: NonNullable<Execution['failure']>, now: number): Execution {
  const batches = execution.batches.map((batch) =>
    batch.state === 'Pending' ? { ...batch, state: 'Skipped' as const } : batch,
  )
  return endExecution({ ...execution, batches, state: 'Failed', step: 'Finished', failure, finishedAt: timestamp(now) })
}

/** Lets the running batch finish, and starts no further one. */
function cancelExecution(execution: Execution, seen: RolloutObservation, now: number): Execution {
  const batch = execution.state === 'Executing' ? activeBatch(execution) : undefined
  if (batch?.state === 'Applying' || batch?.state === 'WaitingForHealth') {
    const looked = updateBatch(batch, seen, now)
    const isLate = now >= Date.parse(looked.deadlineAt ?? '')
    const isUnderWay = looked.components.some(({ state }) => state === 'Applying')
    if (isUnderWay && !isLate) return withBatch(execution, looked)
    const hasFailed = isUnderWay || looked.components.some(({ state }) => state === 'Failed')
    const { checkAt: _, ...rest } = looked
    const last = {
      ...rest,
      state: hasFailed ? ('Failed' as const) : ('Succeeded' as const),
      finishedAt: timestamp(now),
    }
    return endCancelled(withBatch(execution, last), now)
  }
  return endCancelled(execution, now)
}

function endCancelled(execution: Execution, now: number): Execution {
  const batches = execution.batches.map((batch) =>
    batch.state === 'Pending' || batch.state === 'Paused' ? { ...batch, state: 'Cancelled' as const } : batch,
  )
  const { pause: _, ...rest } = execution
  return endExecution({ ...rest, batches, state: 'Cancelled', step: 'Finished', finishedAt: timestamp(now) })
}

function fromPause(execution: Execution, seen: RolloutObservation, now: number): Execution {
  const { pause, ...rest } = execution
  const { resumeAt, revertDriftAt, skipSnapshot, by = '' } = seen.requests
  if (pause?.code === 'PlatformDrift') {
    if (revertDriftAt === undefined || revertDriftAt === execution.revertedAt) return execution
    return revertDrift({ ...rest, revertedAt: revertDriftAt }, seen, now)
  }
  if (resumeAt === undefined || resumeAt === execution.resumedAt) return execution
  const resumed: Execution = { ...rest, state: 'Executing', resumedAt: resumeAt }
  if (pause?.code !== 'SnapshotFailed') return resumeBatch(resumed, resumeAt, now)
  if (skipSnapshot === true && pause.canSkipSnapshot) return toNextBatch(withSkippedSnapshot(resumed, by, now))
  const { snapshot: _, ...withoutSnapshot } = resumed
  return withoutSnapshot
}

/** Resumes the paused batch with its full time limit. */
function resumeBatch(execution: Execution, resumeAt: string, now: number): Execution {
  const batch = activeBatch(execution)
  if (batch?.state !== 'Paused') return execution
  const components = batch.components.map((one) => {
    if (one.state !== 'Failed') return one
    const { finishedAt: _finished, message: _message, ...rest } = one
    return { ...rest, state: 'Applying' as const, requestedAt: resumeAt }
  })
  const hasBegun = batch.startedAt !== undefined
  const checkAt = batch.checkAt === undefined ? {} : { checkAt: timestamp(now) }
  const deadlineAt = hasBegun ? { deadlineAt: deadlineOf(batch, now) } : {}
  return withBatch(execution, {
    ...batch,
    state: hasBegun ? 'Applying' : 'Pending',
    components,
    ...checkAt,
    ...deadlineAt,
  })
}

/** Reinstalling a component restores its rendered objects, whoever changed them. */
function revertDrift(execution: Execution, { requests: { by = '' } }: RolloutObservation, now: number): Execution {
  const batch = activeBatch(execution)
  const at = timestamp(now)
  const names = batch?.components.map(({ name }) => name).join(', ') ?? ''
  const overrides = [
    ...(execution.overrides ?? []),
    { kind: 'DriftReverted' as const, by, at, detail: names.slice(0, MAX_MESSAGE_LENGTH) },
  ]
  const resumed: Execution = { ...execution, overrides, state: 'Executing' }
  if (batch === undefined) return resumed
  const components = batch.components.map((one) => ({
    ...one,
    state: 'Applying' as const,
    startedAt: at,
    requestedAt: execution.revertedAt,
  }))
  return withBatch(resumed, {
    ...batch,
    state: 'Applying',
    components,
    startedAt: at,
    deadlineAt: deadlineOf(batch, now),
  })
}
