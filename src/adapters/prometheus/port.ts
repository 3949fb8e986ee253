import type { Aggregation, MetricCollection } from '../../contracts/metrics.ts'

/** Identifies requests that a Gateway routed through this HTTPRoute to this Service. */
export type RoutedService = { namespace: string; route: string; service: string }

/** Seconds since the epoch. The last step ends at `to`, and may be shorter. */
export type Steps = { from: number; to: number; stepSeconds: number }

/** The requests that ended within one step. */
export type CountedStep = {
  /** Start of the step, in seconds since the epoch. */
  at: number
  /** Number of requests by status code. */
  codes: Readonly<Record<string, number>>
  bytesIn: number
  bytesOut: number
  /** Sum of the durations. */
  seconds: number
  /** Cumulative number of requests by duration, with ascending bounds; the last one is Infinity. */
  durations: readonly (readonly [atMost: number, requests: number])[]
}

export type CountedRequests = {
  /** Whether both ends were measured. Counters only grow, so everything in between is then known. */
  isComplete: boolean
  /** Only the steps at whose end the Gateway was measured. */
  steps: readonly CountedStep[]
}

/** Request counters of the Gateway. */
export interface RequestFigures {
  /**
   * Returns undefined if the counters are not available now. Never rejects: figures are shown if they are there, and
   * nothing depends on them.
   */
  of(routed: RoutedService, steps: Steps): Promise<CountedRequests | undefined>
}

/**
 * Pattern of a workload's pod names: `<workload>-<ordinal>` (StatefulSet, CloudNativePG), `<workload>-<hash>-<random>`
 * (Deployment), `<workload>-<random>` (Job), `Any` for any suffix.
 */
export type PodName = { readonly workload: string; readonly tail: 'Ordinal' | 'Deployment' | 'Job' | 'Any' }
/** A claim of exactly this name, or one per ordinal. */
export type ClaimName = { readonly claim: string; readonly tail: 'None' | 'Ordinal' | 'Any' }

/** What to measure. Only these names, and the namespace matcher derived from them, get into a query. */
export type MetricTarget = {
  /** One group's namespace, those of all groups, or any namespace, which is only for administrators. */
  readonly namespace: string | 'every group' | 'anywhere'
  readonly pods: readonly PodName[]
  readonly claims: readonly ClaimName[]
  /** Routes that lead to it, or a name prefix of the workloads behind them. */
  readonly routes: readonly Omit<RoutedService, 'namespace'>[] | { readonly stem: string }
  /** Names at the object store; undefined means all. */
  readonly buckets: readonly string[] | undefined
  readonly jobs: readonly { readonly job: string; readonly tail: 'None' | 'Any' }[]
}

/** Inputs for utilization; not metrics of the interface. */
export const CAPACITY_METRICS = [
  'CpuLimit',
  'CpuRequest',
  'MemoryLimit',
  'MemoryRequest',
  'StorageCapacity',
  'ConnectionLimit',
] as const
/** Per claim, in any namespace. */
export const CLAIM_METRICS = ['ClaimUsed', 'ClaimInodesUsed', 'ClaimGrowth'] as const
export type CapacityMetric = (typeof CAPACITY_METRICS)[number] | (typeof CLAIM_METRICS)[number]

export type MetricSeriesQuery = {
  readonly collection: MetricCollection | 'platform'
  /** A metric of that collection, or a capacity. */
  readonly metric: string
  readonly aggregation: Aggregation
  /** Undefined for metrics of the platform. */
  readonly target: MetricTarget | undefined
  /** Restricts metrics with a container label to this container. */
  readonly container?: string | undefined
  /** Sums all series into one. */
  readonly isSummed?: boolean
}

export type MeasuredSeries = {
  readonly labels: Readonly<Record<string, string>>
  /** A point at the start of each step with a measurement, in seconds since the epoch. */
  readonly points: readonly { readonly at: number; readonly value: number }[]
}

/** The metric source did not answer, or not with usable figures. */
export class MetricSourceError extends Error {}

/** Measurements of workloads and of the platform. */
export interface MetricSource {
  /** @throws MetricSourceError */
  of(question: MetricSeriesQuery, steps: Steps): Promise<readonly MeasuredSeries[]>
}

/** WAL files that wait for archiving, and how full the WAL volume is, 0 to 100. */
export type WalMeasurement = { readyCount: number | undefined; volumePercent: number | undefined }

/** Measurements of the write-ahead logs of databases. */
export interface WalMetrics {
  /** Keyed by `<namespace>/<CloudNativePG Cluster>`; empty if not available now. Never rejects. */
  all(): Promise<ReadonlyMap<string, WalMeasurement>>
}
