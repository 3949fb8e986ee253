import type { Flow, FlowEnd } from '../../adapters/flows/port.ts'
import { timestamp } from '../../core/clock.ts'
import { uuidV5 } from '../../core/ids.ts'
import type { GroupResource } from '../resources/contents.ts'
import type { VisibleContents } from './visibleContents.ts'
import type { Window } from './window.ts'

/** Pure: aggregates flows. */

/** An end of a flow, as seen from a boundary. */
export type KnownEnd = {
  readonly kind: 'Resource' | 'Group' | 'Platform' | 'Cluster' | 'Internet'
  readonly group?: string | undefined
  readonly resource?: GroupResource | undefined
}

/** @param system the namespace of the platform itself */
export function knownEnd({ namespace, labels }: FlowEnd, contents: VisibleContents, system: string): KnownEnd {
  if (namespace === undefined) return { kind: 'Internet' }
  if (namespace === system) return { kind: 'Platform' }
  const group = contents.groupOfNamespace(namespace)
  if (group === undefined || contents.isHiddenIn(group, labels)) return { kind: 'Cluster' }
  const resource = contents.ownerIn(group, labels)
  return resource === undefined
    ? { kind: 'Group', group: group.name }
    : { kind: 'Resource', group: group.name, resource }
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
