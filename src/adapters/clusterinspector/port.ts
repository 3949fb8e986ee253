import type { DriftItem } from '../../contracts/rollouts/drift.ts'
import type { ClusterCheckFacts } from '../../contracts/rollouts/facts.ts'

export type InspectedComponent = {
  readonly name: string
  /** Name of the HelmRelease in the labels of its objects. */
  readonly release: string
  readonly namespace: string
  readonly definitions: readonly string[]
  /** Value keys of the chart, and whether each is a secret. */
  readonly keys: Readonly<Record<string, { readonly isSecret: boolean }>>
}

/** The wanted rules by name of the ClusterRole. */
export type WantedRoles = Readonly<Record<string, readonly RoleRule[]>>
export type RoleRule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export type DriftReport = {
  /** Number of objects that were read. */
  readonly scanned: number
  readonly items: DriftItem[]
  /** What could not be read, as sentences. */
  readonly problems: readonly string[]
}

/** Reads the platform's own cluster, for preflight checks of rollouts and for drift. */
export interface ClusterInspector {
  /** Never throws for what is missing or forbidden: that fact is then unknown. */
  facts(components: readonly InspectedComponent[], now: number): Promise<ClusterCheckFacts>
  /** Returns fields of components' objects that others wrote. @throws KubeError if nothing can be read */
  drift(components: readonly InspectedComponent[]): Promise<DriftReport>
  /** Returns the current value of a field of a component's object; undefined if absent or not readable. */
  valueOf(at: { kind: string; namespace: string; name: string; field: string }): Promise<unknown>
}
