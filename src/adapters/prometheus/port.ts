import type { Aggregation, MetricCollection } from '../../contracts/metrics.ts'

/** Which requests are meant: those that a Gateway led by this HTTPRoute to this Service. */
export type Routed = { namespace: string; route: string; service: string }

/** In seconds since the epoch. The last step ends with `to`, and may be shorter. */
export type Steps = { from: number; to: number; stepSeconds: number }

/** What was counted of the requests that ended in one step. */
export type CountedStep = {
  /** When it begins, in seconds since the epoch. */
  at: number
  /** Requests by status code. */
  codes: Readonly<Record<string, number>>
  bytesIn: number
  bytesOut: number
  /** How long all of them took together. */
  seconds: number
  /** How many took at most so many seconds, by ascending bound; the last bound is Infinity. */
  durations: readonly (readonly [atMost: number, requests: number])[]
}

export type CountedRequests = {
  /** Whether the Gateway was measured at both ends. Counters only grow, so what is between is known then. */
  isComplete: boolean
  /** Only those at whose end the Gateway was measured. */
  steps: readonly CountedStep[]
}

/** What the Gateway counted of requests. */
export interface RequestFigures {
  /**
   * Undefined if it cannot be learnt now: nobody measures, or whoever does gives no answer in time. It never rejects:
   * figures are shown where they are there, and nothing depends on them.
   */
  of(routed: Routed, steps: Steps): Promise<CountedRequests | undefined>
}

/**
 * How the pods of a workload are called: `<workload>-<ordinal>` of a StatefulSet or of CloudNativePG, `<workload>-<hash>-<random>` of
 * a Deployment, `<workload>-<random>` of a Job. `Any`: whatever begins with it.
 */
export type PodName = { readonly workload: string; readonly tail: 'Ordinal' | 'Deployment' | 'Job' | 'Any' }
/** A claim of that very name, or one for each ordinal behind it. */
export type ClaimName = { readonly claim: string; readonly tail: 'None' | 'Ordinal' | 'Any' }

/** What of the cluster is measured. The matcher of namespaces is made of it, and nothing else gets into a query. */
export type Target = {
  /** The namespace of one group, those of all groups, or any at all, which is for administrators. */
  readonly namespace: string | 'every group' | 'anywhere'
  readonly pods: readonly PodName[]
  readonly claims: readonly ClaimName[]
  /** Whose requests a Gateway leads to it; undefined: to all workloads whose name begins so. */
  readonly routes: readonly Omit<Routed, 'namespace'>[] | { readonly stem: string }
  /** Names at the object store; undefined: all. */
  readonly buckets: readonly string[] | undefined
  readonly jobs: readonly { readonly job: string; readonly tail: 'None' | 'Any' }[]
}

/** Amounts that utilization is told in; no metric of the interface. */
export const CAPACITY_METRICS = [
  'CpuLimit',
  'CpuRequest',
  'MemoryLimit',
  'MemoryRequest',
  'StorageCapacity',
  'ConnectionLimit',
] as const
/** Of each claim in any namespace. */
export const CLAIM_METRICS = ['ClaimUsed', 'ClaimInodesUsed', 'ClaimGrowth'] as const
export type CapacityMetric = (typeof CAPACITY_METRICS)[number] | (typeof CLAIM_METRICS)[number]

export type MetricQuestion = {
  readonly collection: MetricCollection | 'platform'
  /** A metric of that collection, or a capacity. */
  readonly metric: string
  readonly aggregation: Aggregation
  /** Undefined for the platform itself. */
  readonly target: Target | undefined
  /** Only this container, of metrics that tell them apart. */
  readonly container?: string | undefined
  /** One series of all. */
  readonly isSummed?: boolean
}

export type MeasuredSeries = {
  readonly labels: Readonly<Record<string, string>>
  /** A point at the beginning of each step in which something was measured, in seconds since the epoch. */
  readonly points: readonly { readonly at: number; readonly value: number }[]
}

/** Whoever keeps what was measured did not answer, or with something else than figures. */
export class MetricSourceError extends Error {}

/** What was measured of workloads and of the platform. */
export interface MetricSource {
  /** @throws MetricSourceError */
  of(question: MetricQuestion, steps: Steps): Promise<readonly MeasuredSeries[]>
}

/** Files of the log that wait for the archive, and how much of its volume the log fills, 0 to 100. */
export type MeasuredLog = { readyCount: number | undefined; volumePercent: number | undefined }

/** What is measured of the logs of databases. */
export interface DatabaseLogs {
  /** By `<namespace>/<Cluster of CloudNativePG>`; empty if it cannot be learnt now. It never rejects. */
  all(): Promise<ReadonlyMap<string, MeasuredLog>>
}
