import { done, type Outcome, waiting } from '../../core/outcome.ts'
import type { WorkloadPass } from './pass.ts'

/** Whether the resource was stopped at the last pass, or has been starting since. */
export function isStarting({ object }: Pick<WorkloadPass, 'object'>): boolean {
  return ['Stopped', 'Stopping', 'Starting'].includes(object.status?.phase ?? '')
}

/** Returns why pods are not ready: a restart, a start, or the first start; undefined for other causes. */
export function judgeStart(pass: Pick<WorkloadPass, 'object'>, progress: string): Outcome | undefined {
  const { spec, status } = pass.object
  if (spec.restartedAt !== undefined && spec.restartedAt !== status?.restartedAt) return waiting('Restarting', progress)
  if (isStarting(pass)) return waiting('Starting', progress)
  return status?.firstReadyAt === undefined ? waiting('WaitingForWorkload', progress) : undefined
}

/** @param remaining number of pods still running */
export function judgeStop(remaining: number, progress: string, stopped: string): Outcome {
  return remaining > 0 ? waiting('Stopping', progress) : done({ reason: 'Stopped', message: stopped })
}

const AFTER_COMPLETION = ['Available', 'PartiallyAvailable', 'CrashLooping', 'ImagePullFailed']

/**
 * Whether everything was ready before and the spec has not changed since, so that what is missing now did exist.
 *
 * @param morePhases further phases that this kind can only reach after that
 */
export function wasComplete({ object }: Pick<WorkloadPass, 'object'>, ...morePhases: string[]): boolean {
  const { phase = '', observedGeneration } = object.status ?? {}
  return [...AFTER_COMPLETION, ...morePhases].includes(phase) && observedGeneration === object.metadata.generation
}
