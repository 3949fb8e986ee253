/** One end of a connection, as reported by a collector that sees every packet, such as Cilium's Hubble. */

export type FlowEnd = {
  /** Namespace of the pod; absent for addresses outside the cluster. */
  readonly namespace?: string | undefined
  readonly podName?: string | undefined
  readonly ipAddress?: string | undefined
  readonly labels: Readonly<Record<string, string>>
}

/** Why a packet was dropped. NotTenantTraffic: not by a policy. */
export const DENY_REASONS = ['NoRule', 'DenyRule', 'NotTenantTraffic', 'Other'] as const

export type Flow = {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly direction: 'Ingress' | 'Egress'
  /** Absent if the packet was forwarded. */
  readonly denied?: { readonly reason: (typeof DENY_REASONS)[number]; readonly text: string } | undefined
  readonly from: FlowEnd
  readonly to: FlowEnd
  readonly protocol: string
  readonly port: number
  readonly nodeName: string
}

export type FlowQuery = {
  /** Only flows with one end in one of these namespaces. */
  readonly namespaces: readonly string[]
  /** Milliseconds since the epoch, both inclusive. */
  readonly from: number
  readonly to: number
}

/** Flows, oldest first. */
export type FlowResult = { readonly flows: readonly Flow[]; readonly incompleteReason: string | undefined }

export type FlowState = {
  readonly connectedNodes: number
  readonly unavailableNodes: number
  readonly flowsPerSecond: number
  readonly version: string | undefined
}

/** @param clusterId another cluster; by default the platform's own. Returns undefined if nothing collects flows */
export interface FlowSource {
  state(clusterId?: string): Promise<FlowState | undefined>
  flows(question: FlowQuery, clusterId?: string): Promise<FlowResult | undefined>
}
