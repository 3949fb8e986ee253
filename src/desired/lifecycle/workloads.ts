import { normalizeVersion } from '../../contracts/lifecycle.ts'
import type { KubeObject } from '../../core/object.ts'
import type { PlatformComponent } from '../../crds/lifecycle.ts'

export type ComponentStatus = NonNullable<PlatformComponent['status']>
export type ObservedWorkload = NonNullable<ComponentStatus['workloads']>[number]

type Workload = KubeObject & {
  spec?: { replicas?: number; template?: { spec?: { containers?: { image?: string }[] } } }
  status?: {
    observedGeneration?: number
    readyReplicas?: number
    updatedReplicas?: number
    desiredNumberScheduled?: number
    updatedNumberScheduled?: number
    numberReady?: number
  }
}

/** Converts a workload to the form in a component's status. */
export function observedWorkload(object: KubeObject): ObservedWorkload {
  const { kind, metadata, spec, status = {} } = object as Workload
  const wanted = kind === 'DaemonSet' ? (status.desiredNumberScheduled ?? 0) : (spec?.replicas ?? 1)
  const updated = (kind === 'DaemonSet' ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0
  const ready = (kind === 'DaemonSet' ? status.numberReady : status.readyReplicas) ?? 0
  // Until the workload's controller has observed the generation, none of its pods counts as ready.
  const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  const image = spec?.template?.spec?.containers?.[0]?.image
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ready: isSeen ? Math.min(ready, updated) : 0,
    wanted,
    version: runningVersion(metadata.labels, image),
    image,
  }
}

/** Returns the chart's version from the standard labels, otherwise the program's. */
function runningVersion(labels: Readonly<Record<string, string>> = {}, image = ''): string | undefined {
  const chart = /-(v?[0-9]+\.[0-9]+\.[0-9]+.*)$/.exec(labels['helm.sh/chart'] ?? '')?.[1]?.replaceAll('_', '+')
  const tag = /:([^:/@]+)(@.*)?$/.exec(image)?.[1]
  return [chart, labels['app.kubernetes.io/version'], tag].find((text) => normalizeVersion(text) !== undefined)
}

export const isWorkloadReady = ({ ready, wanted }: ObservedWorkload): boolean => ready >= wanted
