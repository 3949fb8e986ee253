import { degraded, type Outcome, stalled } from '../../core/outcome.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { describeEviction, isEvicted } from '../../desired/workload/evicted.ts'
import { CREATE_FAILURES, describePlacement, IMAGE_FAILURES } from '../../desired/workload/podProblems.ts'
import { missingStorageClass } from '../workload/storage.ts'
import type { StatefulPass } from './pass.ts'
import type { Pod, StatefulSet } from './types.ts'

/** Whether every wanted pod runs the current template and is ready. */
export function isRolledOut(workload: StatefulSet | undefined): boolean {
  if (workload === undefined) return false
  const { spec, status = {}, metadata } = workload
  const replicas = spec.replicas ?? 1
  return (
    replicas > 0 &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 1) &&
    status.replicas === replicas &&
    status.updatedReplicas === replicas &&
    status.readyReplicas === replicas &&
    status.currentRevision === status.updateRevision
  )
}

/** Whether there is something to report about a pod that does not start. */
export const cannotStart = (found: Pod): boolean =>
  findPodProblem([found]) !== undefined ||
  describePlacement({ subject: '', cpuRequest: '', memoryRequest: '' }, found) !== undefined

/** Returns the progress and why no node takes a pod, if so; a node may be added later. */
export function describeProgress(
  { workloads }: Pick<StatefulPass, 'workloads'>,
  progress: string,
  found: readonly Pod[],
  plan: EffectivePlan,
): string {
  const missingClass = missingStorageClass(workloads, [plan.storageClass])
  const causes = found.flatMap(
    (each) =>
      (isEvicted(each) ? describeEviction(`Pod ${each.metadata.name}`, each) : undefined) ??
      describePlacement({ subject: `pod ${each.metadata.name}`, ...plan, missingClass }, each) ??
      [],
  )
  return [progress, ...causes.slice(0, 1)].join(' ')
}

/** Returns why a container cannot start. Its message may contain anything and is not repeated. */
export function findPodProblem(found: readonly Pod[]): Outcome | undefined {
  for (const each of found) {
    for (const { state } of each.status?.containerStatuses ?? []) {
      const reason = state?.waiting?.reason ?? ''
      const message = `Pod ${each.metadata.name}: ${reason}.`
      if (IMAGE_FAILURES.has(reason)) return degraded('ImagePullFailed', message)
      if (reason === 'CrashLoopBackOff') return degraded('CrashLooping', message)
      if (CREATE_FAILURES.has(reason)) return stalled('ConfigurationInvalid', message)
    }
  }
  return undefined
}
