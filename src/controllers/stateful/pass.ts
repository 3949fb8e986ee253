import { ordinalOf as ordinalIn, ownerLabelSelector } from '../../contracts/workloads.ts'
import type { ChildStem } from '../../core/childStems.ts'
import { childName } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { pod, statefulSet } from '../../kube/builtin.ts'
import { related } from '../engine/lookups.ts'
import { belongsTo } from '../engine/ownership.ts'
import { newWorkloadState, refOfPass, type WorkloadPass, type WorkloadState } from '../workload/pass.ts'
import type { Claim, Pod, StatefulSet } from './types.ts'

/** State shared by the steps for StatefulSets with a volume per pod. */
export type StatefulState = WorkloadState & {
  /** adoptVolumes: the claims that exist, by ordinal. */
  claims: ReadonlyMap<number, Claim>
  /** growVolumes: why volumes do not have the requested size yet. */
  volumes?: Outcome | undefined
  /** growVolumes: the size an existing claim template was made for; undefined if the plan's size applies. */
  templateFor?: string | undefined
  /** applyWorkload */
  workload?: StatefulSet | undefined
}

export function newStatefulState(): StatefulState {
  return { ...newWorkloadState(), claims: new Map() }
}

/** A pass over a kind that runs as a StatefulSet with a volume per pod. */
export type StatefulPass = WorkloadPass & {
  readonly object: { readonly spec: { readonly onDelete?: unknown } }
  readonly state: StatefulState
}

/** The name of the StatefulSet: `<short name>-<name>`. */
export function workloadOf({ kind, object }: Pick<StatefulPass, 'kind' | 'object'>): string {
  return childName(kind.shortNames[0] as ChildStem, object.metadata.name)
}

/** Returns the existing StatefulSet, if it belongs to the resource. */
export function observedWorkload(pass: StatefulPass): StatefulSet | undefined {
  const { namespace } = refOfPass(pass)
  const found = pass.workloads.cache<StatefulSet>(statefulSet).get(namespace, workloadOf(pass))
  return found !== undefined && belongsTo(found, pass) ? found : undefined
}

/** Whether the StatefulSet exists. */
export function hasStatefulSet(pass: StatefulPass): boolean {
  return observedWorkload(pass) !== undefined
}

/** The ordinal of a claim or pod of this resource; undefined for a foreign name. */
export function ordinalOf(pass: Pick<StatefulPass, 'kind' | 'object'>, podOrClaim: string): number | undefined {
  return ordinalIn(workloadOf(pass), podOrClaim)
}

/** Returns the remaining pods of this resource, in any state. */
export function podsOfStateful(pass: StatefulPass): Pod[] {
  const { namespace } = refOfPass(pass)
  return related(pass.workloads.cache<Pod & KubeObject>(pod), 'numbered', namespace, workloadOf(pass)).filter(
    (each) => ordinalOf(pass, each.metadata.name) !== undefined,
  )
}

/** Returns the number of remaining pods, at least the StatefulSet's own count, which lags behind and is shown. */
export function podsLeft(pass: StatefulPass): number {
  return Math.max(podsOfStateful(pass).length, pass.state.workload?.status?.replicas ?? 0)
}

/** Reports ready pods. Runs first, because a later step may stop the pass while the pods keep running. */
export function observeWorkload(pass: StatefulPass): Outcome {
  const ready = observedWorkload(pass)?.status?.readyReplicas ?? 0
  pass.report({ readyReplicas: ready })
  pass.serving(ready > 0)
  return done()
}

/**
 * Lists pods or claims of this name with our labels, of any incarnation, from the API server: a teardown must not miss
 * what the cache lacks.
 */
export async function listFromApiServer<T extends KubeObject>(pass: StatefulPass, resource: Resource): Promise<T[]> {
  const { namespace, name } = refOfPass(pass)
  const labelSelector = ownerLabelSelector(pass.kind.kind, name)
  const { items } = await pass.workloads.client.list<T>(resource, { namespace, labelSelector })
  return items.filter((each) => ordinalOf(pass, each.metadata.name) !== undefined)
}
