import type { Flow, FlowEnd } from '../../adapters/flows/port.ts'
import { timestamp } from '../../core/clock.ts'
import { uuidV5 } from '../../core/ids.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { GroupResource } from '../resources/contents.ts'
import type { Window } from './window.ts'

/** Pure: aggregates flows. */

export type Group = { readonly name: string; readonly namespace: string }

/** An end of a flow, as seen from a boundary. */
export type KnownEnd = {
  readonly kind: 'Resource' | 'Group' | 'Platform' | 'Cluster' | 'Internet'
  readonly group?: string | undefined
  readonly resource?: GroupResource | undefined
}

/** The content of a boundary that the caller may see. */
export type VisibleContents = {
  readonly groups: readonly Group[]
  readonly resources: readonly GroupResource[]
  /** Resources of the same groups that the caller may not see. */
  readonly hidden: readonly GroupResource[]
}

/** @param system the namespace of the platform itself */
export function knownEnd(
  { namespace, labels }: FlowEnd,
  { groups, resources, hidden }: VisibleContents,
  system: string,
): KnownEnd {
  if (namespace === undefined) return { kind: 'Internet' }
  if (namespace === system) return { kind: 'Platform' }
  const group = groups.find((each) => each.namespace === namespace)?.name
  if (group === undefined) return { kind: 'Cluster' }
  const isItsPod = ({ kind, object, resourceGroup }: GroupResource) =>
    resourceGroup === group &&
    labels[OWNER_KIND_LABEL] === kind.kind &&
    labels[OWNER_NAME_LABEL] === object.metadata.name
  if (hidden.some(isItsPod)) return { kind: 'Cluster' }
  const resource = resources.find(isItsPod)
  return resource === undefined ? { kind: 'Group', group } : { kind: 'Resource', group, resource }
}

export type ObservedDeny = { readonly id: string; readonly flows: readonly [Flow, ...Flow[]] }

/** Groups drops of one kind between the same ends into one deny, with a stable id. */
export function groupDenies(clusterId: string, flows: readonly Flow[]): ObservedDeny[] {
  const byId = new Map<string, [Flow, ...Flow[]]>()
  for (const flow of flows) {
    if (flow.denied === undefined) continue
    const end = ({ namespace, podName, ipAddress }: FlowEnd) => [namespace, podName ?? ipAddress]
    const what = [clusterId, flow.direction, flow.denied.reason, ...end(flow.from), ...end(flow.to)]
    const id = uuidV5(JSON.stringify([...what, flow.protocol, flow.port]))
    const before = byId.get(id)
    if (before === undefined) byId.set(id, [flow])
    else before.push(flow)
  }
  return [...byId].map(([id, found]) => ({ id, flows: found }))
}

/** Returns the step in seconds: 120 points per window, but at least 15 seconds each. */
export function windowStepSeconds({ from, to }: Window): number {
  return Math.max(15, Math.ceil((to - from) / 120_000))
}

/** Returns flows per second; the last step may be incomplete. */
export function rates(flows: readonly Flow[], window: Window, stepSeconds: number) {
  const step = stepSeconds * 1000
  const count = Math.ceil((window.to - window.from) / step)
  const [allowed, denied] = [new Array<number>(count).fill(0), new Array<number>(count).fill(0)]
  for (const flow of flows) {
    const at = Math.min(count - 1, Math.floor((flow.time - window.from) / step))
    const list = flow.denied === undefined ? allowed : denied
    if (at >= 0) list[at] = (list[at] ?? 0) + 1
  }
  const points = (counts: readonly number[]) =>
    counts.map((value, index) => ({
      timestamp: timestamp(window.from + index * step),
      value: value / stepSeconds,
    }))
  return { AllowedFlows: points(allowed), DeniedFlows: points(denied) }
}
