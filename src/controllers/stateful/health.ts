import { degraded, type Outcome } from '../../core/outcome.ts'
import type { Pod, StatefulSet } from './types.ts'

/** Every wanted pod runs the current template, and is ready. */
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

const IMAGE_TROUBLE = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])

/** The reason why a container cannot start; its message may hold anything and is not repeated. */
export function podTroubleOf(found: readonly Pod[]): Outcome | undefined {
  for (const each of found) {
    for (const { state } of each.status?.containerStatuses ?? []) {
      const word = state?.waiting?.reason ?? ''
      const message = `Pod ${each.metadata.name}: ${word}.`
      if (IMAGE_TROUBLE.has(word)) return degraded('ImagePullFailed', message)
      if (word === 'CrashLoopBackOff') return degraded('CrashLooping', message)
    }
  }
  return undefined
}
