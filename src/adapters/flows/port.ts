/** What connections there were in a cluster, as something that sees every packet tells it (Hubble of Cilium, for one). */

export type FlowEnd = {
  /** Of a pod; absent for what is outside of the cluster. */
  readonly namespace?: string | undefined
  readonly podName?: string | undefined
  readonly ipAddress?: string | undefined
  readonly labels: Readonly<Record<string, string>>
}

/** Why a packet was dropped. NotTenantTraffic: no policy did it. */
export const DENY_REASONS = ['NoRule', 'DenyRule', 'NotTenantTraffic', 'Other'] as const

export type Flow = {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly direction: 'Ingress' | 'Egress'
  /** Absent for what was let pass. */
  readonly denied?: { readonly reason: (typeof DENY_REASONS)[number]; readonly text: string } | undefined
  readonly from: FlowEnd
  readonly to: FlowEnd
  readonly protocol: string
  readonly port: number
  readonly nodeName: string
}

export type FlowQuestion = {
  /** Only flows with one end in one of these. */
  readonly namespaces: readonly string[]
  /** Milliseconds since the epoch, both inclusive. */
  readonly from: number
  readonly to: number
}

/** The oldest first. */
export type ToldFlows = { readonly flows: readonly Flow[]; readonly incompleteReason: string | undefined }

export type FlowState = {
  readonly connectedNodes: number
  readonly unavailableNodes: number
  readonly flowsPerSecond: number
  readonly version: string | undefined
}

/** @param clusterId of another cluster than the platform's own; undefined is answered where nothing collects flows */
export interface FlowSource {
  state(clusterId?: string): Promise<FlowState | undefined>
  flows(question: FlowQuestion, clusterId?: string): Promise<ToldFlows | undefined>
}
