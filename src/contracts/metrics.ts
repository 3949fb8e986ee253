/** The available metrics of each collection, and how they are computed (records: monitoring). */

export const AGGREGATIONS = ['Average', 'Minimum', 'Maximum', 'Sum', 'Count', 'Last', 'P50', 'P95', 'P99'] as const
export type Aggregation = (typeof AGGREGATIONS)[number]

export type Metric = {
  readonly unit: string
  readonly aggregations: readonly Aggregation[]
  /** Its source: the activator or the platform's own objects; Prometheus if absent. */
  readonly by?: 'activator' | 'objects'
}

const GAUGE_AGGREGATIONS: readonly Aggregation[] = ['Average', 'Minimum', 'Maximum', 'Last', 'P95']
/** Sum is the number of events in each step. */
const RATE_AGGREGATIONS: readonly Aggregation[] = ['Average', 'Minimum', 'Maximum', 'Sum', 'Last', 'P95']
const LATENCY_AGGREGATIONS: readonly Aggregation[] = ['Average', 'P50', 'P95', 'P99']

const gauge = (unit: string): Metric => ({ unit, aggregations: GAUGE_AGGREGATIONS })
const rate = (unit = '1/s'): Metric => ({ unit, aggregations: RATE_AGGREGATIONS })
/** Counted in steps, each with a single rate. */
const countedRate = (by: NonNullable<Metric['by']>): Metric => ({
  unit: '1/s',
  aggregations: ['Average', 'Sum', 'Last'],
  by,
})
const latency: Metric = { unit: 'ms', aggregations: LATENCY_AGGREGATIONS }

/** Metrics of everything that runs pods. */
const WORKLOAD_METRICS = {
  CpuUsage: gauge('cores'),
  MemoryUsage: gauge('bytes'),
  CpuPercent: gauge('percent'),
  MemoryPercent: gauge('percent'),
  NetworkIn: gauge('bytes/s'),
  NetworkOut: gauge('bytes/s'),
  Restarts: { unit: 'count', aggregations: ['Sum', 'Last'] as readonly Aggregation[] },
  ReadyReplicas: gauge('count'),
} satisfies Record<string, Metric>

const STORAGE_METRICS = { StorageUsed: gauge('bytes'), StoragePercent: gauge('percent') }
const WEB_METRICS = {
  Requests: rate(),
  Errors4xx: rate(),
  Errors5xx: rate(),
  Latency: latency,
  BytesIn: rate('bytes/s'),
  BytesOut: rate('bytes/s'),
}

export const METRICS = {
  vectorclusters: {
    ...WORKLOAD_METRICS,
    ...STORAGE_METRICS,
    Collections: gauge('count'),
    Vectors: gauge('count'),
    SearchRequests: rate(),
    WriteRequests: rate(),
    SearchLatency: latency,
    PendingOperations: gauge('count'),
  },
  relationalclusters: {
    ...WORKLOAD_METRICS,
    ...STORAGE_METRICS,
    WalSize: gauge('bytes'),
    Connections: gauge('count'),
    ConnectionPercent: gauge('percent'),
    Transactions: rate(),
    Deadlocks: rate(),
    CacheHitRatio: gauge('ratio'),
    ReplicationLag: gauge('s'),
    WalFilesReady: gauge('count'),
    LastBackupAge: gauge('s'),
  },
  sqlclusters: {
    ...WORKLOAD_METRICS,
    ...STORAGE_METRICS,
    Connections: gauge('count'),
    BatchRequests: rate(),
    Deadlocks: rate(),
    PageLifeExpectancy: gauge('s'),
    BufferCacheHitRatio: gauge('ratio'),
  },
  containerinstances: {
    ...WORKLOAD_METRICS,
    ...STORAGE_METRICS,
    Requests: rate(),
    Errors5xx: rate(),
    Latency: latency,
  },
  apps: { ...WORKLOAD_METRICS, ...WEB_METRICS, StorageUsed: STORAGE_METRICS.StorageUsed },
  staticwebapps: { ...WORKLOAD_METRICS, ...WEB_METRICS, StorageUsed: STORAGE_METRICS.StorageUsed },
  functionnamespaces: {
    ...WORKLOAD_METRICS,
    Invocations: countedRate('activator'),
    Errors: countedRate('activator'),
    Throttles: countedRate('activator'),
    ColdStarts: countedRate('activator'),
    Duration: { unit: 'ms', aggregations: ['P50', 'P95', 'P99'], by: 'activator' },
    Replicas: gauge('count'),
  },
  jobs: { ...WORKLOAD_METRICS, Duration: gauge('s') },
  objectstorageaccounts: {
    UsedBytes: gauge('bytes'),
    ObjectCount: gauge('count'),
    Requests: rate(),
    Errors: rate(),
    Throttles: rate(),
    Latency: latency,
    BytesIn: rate('bytes/s'),
    BytesOut: rate('bytes/s'),
  },
  secretvaults: {
    Reads: countedRate('objects'),
    Writes: countedRate('objects'),
    Refusals: countedRate('objects'),
    SecretsExpiringSoon: { unit: 'count', aggregations: ['Last'], by: 'objects' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Metric>>>>
export type MetricCollection = keyof typeof METRICS
export const METRIC_COLLECTIONS = Object.keys(METRICS) as MetricCollection[]

export const PLATFORM_METRICS = {
  CpuAllocatable: gauge('cores'),
  CpuRequested: gauge('cores'),
  MemoryAllocatable: gauge('bytes'),
  MemoryRequested: gauge('bytes'),
  PodCount: gauge('count'),
  NodeReady: gauge('count'),
  VolumeUsed: gauge('bytes'),
  ApiRequests: rate(),
  ApiErrors: rate(),
  ApiLatency: latency,
  ReconcileQueue: gauge('count'),
  ReconcileErrors: rate(),
} as const satisfies Readonly<Record<string, Metric>>

/** Limits of a query: the longest span, and the seconds between two points. */
export const MAX_SPAN_DAYS = 31
export const MIN_STEP_SECONDS = 15
const DEFAULT_POINTS = 120

export function defaultStepSeconds(seconds: number): number {
  return Math.max(MIN_STEP_SECONDS, Math.ceil(seconds / DEFAULT_POINTS))
}

/** Returns the unit of an aggregation: a sum over a rate is an amount. */
export function unitOf({ unit }: Metric, aggregation: Aggregation): string {
  if (aggregation !== 'Sum') return unit
  return unit === '1/s' ? 'count' : unit.replace(/\/s$/, '')
}
