import type { DriftItem } from '../../contracts/rollouts/drift.ts'
import type { ClusterFacts } from '../../contracts/rollouts/facts.ts'

export type LookedComponent = {
  readonly name: string
  /** Name of the HelmRelease whose label its objects carry. */
  readonly release: string
  readonly namespace: string
  readonly definitions: readonly string[]
  /** Keys of its values, and whether each is a secret. */
  readonly keys: Readonly<Record<string, { readonly isSecret: boolean }>>
}

/** Rules that ClusterRoles should have, by their names. */
export type WantedRoles = Readonly<Record<string, readonly RoleRule[]>>
export type RoleRule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export type DriftLook = {
  /** Objects that were looked at. */
  readonly scanned: number
  readonly items: DriftItem[]
  /** What could not be looked at, as sentences. */
  readonly problems: readonly string[]
}

/** What the cluster that the platform runs on says of itself: for the checks before a rollout, and for changes by hand. */
export interface ClusterLook {
  /** Never throws for what the cluster does not have or does not let us read: that is a fact that is not known. */
  facts(components: readonly LookedComponent[], now: number): Promise<ClusterFacts>
  /** Fields of objects of components that somebody else wrote. @throws KubeError if nothing can be read */
  drift(components: readonly LookedComponent[]): Promise<DriftLook>
  /** What stands in a field of an object of a component now; undefined if nothing does, or it cannot be read. */
  valueOf(at: { kind: string; namespace: string; name: string; field: string }): Promise<unknown>
}
