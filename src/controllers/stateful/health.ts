import { degraded, type Outcome, stalled } from '../../core/outcome.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { describeEviction, isEvicted } from '../../desired/workload/evicted.ts'
import { CREATE_FAILURES, describePlacement, IMAGE_FAILURES, isReady } from '../../desired/workload/podProblems.ts'
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

/**
 * Returns where to look if a pod is missing that nothing waits for. A quota, an admission policy or a webhook of others
 * may refuse it, which only the events of the StatefulSet tell.
 */
export function describeMissingPod(workload: StatefulSet | undefined, found: readonly Pod[]): string | undefined {
  if (workload === undefined) return undefined
  const { metadata, spec, status } = workload
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1)
  if (!isSeen || found.length >= (spec.replicas ?? 1) || !found.every(isReady)) return undefined
  return `Kubernetes has not created a pod yet: the events of StatefulSet "${metadata.name}" say why.`
}

/** Returns the progress and why a pod is missing or no node takes one, if so; a node may be added later. */
export function describeProgress(
  { workloads }: Pick<StatefulPass, 'workloads'>,
  progress: string,
  found: readonly Pod[],
  plan: EffectivePlan,
  workload?: StatefulSet,
): string {
  const missingClass = missingStorageClass(workloads, [plan.storageClass])
  const causes = found.flatMap(
    (each) =>
      (isEvicted(each) ? describeEviction(`Pod ${each.metadata.name}`, each) : undefined) ??
      describePlacement({ subject: `pod ${each.metadata.name}`, ...plan, missingClass }, each) ??
      [],
  )
  const missing = describeMissingPod(workload, found) ?? []
  return [progress, ...causes.concat(missing).slice(0, 1)].join(' ')
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
