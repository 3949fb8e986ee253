import type { PlanRelease } from './plan.ts'
import type { PlannedRollout } from './states.ts'

/** A fact, or why it could not be learnt. */
export type Fact<Value> = { readonly value: Value } | { readonly unknown: string }

export type NodeFacts = {
  readonly name: string
  readonly isReady: boolean
  readonly isShortOfDisk: boolean
  /** Cores and bytes that all pods together may have. */
  readonly cpu: number
  readonly memory: number
}
/** Resource requests of the pods of all nodes. */
export type RequestedResources = { readonly cpu: number; readonly memory: number }
export type DatabaseFacts = {
  readonly name: string
  readonly hasPrimary: boolean
  /** Undefined if it has no archive. */
  readonly isArchiving: boolean | undefined
}
export type CertificateFacts = { readonly name: string; readonly isReady: boolean; readonly endsAt: string | undefined }
export type QuotaFacts = { readonly name: string; readonly share: number }
export type WorkloadFacts = { readonly name: string; readonly isPending: boolean }
export type BackupFacts = {
  readonly target: 'Available' | 'Unavailable' | 'Missing'
  /** When the newest complete backup of the platform was completed. */
  readonly lastAt: string | undefined
}

/** What the checks need to know about the cluster. */
export type ClusterCheckFacts = {
  readonly nodes: Fact<readonly NodeFacts[]>
  readonly requests: Fact<RequestedResources>
  readonly databases: Fact<readonly DatabaseFacts[]>
  readonly certificates: Fact<readonly CertificateFacts[]>
  readonly quotas: Fact<readonly QuotaFacts[]>
  readonly workloads: Fact<readonly WorkloadFacts[]>
  readonly backups: Fact<BackupFacts>
  /** CRDs that components bring and that are not served. */
  readonly missingDefinitions: Fact<readonly string[]>
  /** Rules that the ceiling of projected roles lacks, as sentences. */
  readonly ceiling: Fact<readonly string[]>
}

export type ComponentFacts = { readonly name: string; readonly kind: string; readonly state: string | undefined }
export type ReleaseFacts = PlanRelease & {
  readonly minimumOperatorVersion?: string | undefined
  readonly requiredValues: readonly string[]
  readonly isSigned: boolean
}
export type AgentVersionFacts = { readonly name: string; readonly version: string | undefined }

/** Everything that the checks decide by. */
export type CheckFacts = {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly operatorVersion: string
  /** Id of another rollout or install that has not ended. */
  readonly busyWith: string | undefined
  /** Undefined if only the platform is checked. */
  readonly plan: PlannedRollout | undefined
  readonly components: readonly ComponentFacts[]
  /** The releases that the plan moves to. */
  readonly releases: readonly ReleaseFacts[]
  /** Entries of the install-configuration that items of the plan need and that are not set. */
  readonly missingValues: Fact<readonly string[]>
  readonly lastScan: { readonly finishedAt: string; readonly found: number } | undefined
  readonly agents: readonly AgentVersionFacts[]
  readonly cluster: ClusterCheckFacts
}
