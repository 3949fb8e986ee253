import type { Flow, FlowQuery, FlowResult, FlowSource, FlowState } from './port.ts'

const STATE: FlowState = { connectedNodes: 1, unavailableNodes: 0, flowsPerSecond: 0, version: 'played' }

/** Flows of the platform's own cluster, in memory. */
export class FakeFlows implements FlowSource {
  readonly #flows: Flow[] = []
  incompleteReason: string | undefined

  saw(...flows: readonly Flow[]): void {
    this.#flows.push(...flows)
  }

  async state(clusterId?: string): Promise<FlowState | undefined> {
    return clusterId === undefined ? STATE : undefined
  }

  async flows({ namespaces, from, to }: FlowQuery, clusterId?: string): Promise<FlowResult | undefined> {
    if (clusterId !== undefined) return undefined
    const isInNamespaces = (end: Flow['from']) => end.namespace !== undefined && namespaces.includes(end.namespace)
    const flows = this.#flows
      .filter((flow) => flow.time >= from && flow.time <= to && (isInNamespaces(flow.from) || isInNamespaces(flow.to)))
      .sort((one, other) => one.time - other.time)
    return { flows, incompleteReason: this.incompleteReason }
  }
}
