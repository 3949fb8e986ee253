import { done, type Outcome, waiting } from '../../core/outcome.ts'
import type { WorkloadPass } from './pass.ts'

/** It was stopped when it was last looked at, or has been starting since. */
export function isStarting({ object }: Pick<WorkloadPass, 'object'>): boolean {
  return ['Stopped', 'Stopping', 'Starting'].includes(object.status?.phase ?? '')
}

/** Why pods are not ready: a restart, a start, the very first one. Undefined for any other cause. */
export function judgeStart(pass: Pick<WorkloadPass, 'object'>, progress: string): Outcome | undefined {
  const { spec, status } = pass.object
  if (spec.restartedAt !== undefined && spec.restartedAt !== status?.restartedAt) return waiting('Restarting', progress)
  if (isStarting(pass)) return waiting('Starting', progress)
  return status?.firstReadyAt === undefined ? waiting('WaitingForWorkload', progress) : undefined
}

/** @param left how many still run */
export function judgeStop(left: number, going: string, stopped: string): Outcome {
  return left > 0 ? waiting('Stopping', going) : done({ reason: 'Stopped', message: stopped })
}

const AFTER_COMPLETION = ['Available', 'PartiallyAvailable', 'CrashLooping', 'ImagePullFailed']

/**
 * Everything was ready once and nothing was asked for since, so what is missing now was there.
 * @param more phases of this kind alone that it can only be in after that
 */
export function wasComplete({ object }: Pick<WorkloadPass, 'object'>, ...more: string[]): boolean {
  const { phase = '', observedGeneration } = object.status ?? {}
  return [...AFTER_COMPLETION, ...more].includes(phase) && observedGeneration === object.metadata.generation
}
