/** The available metrics of each collection, and how they are computed (records: monitoring). */

export const AGGREGATIONS = ['Average', 'Minimum', 'Maximum', 'Sum', 'Count', 'Last', 'P50', 'P95', 'P99'] as const
export type Aggregation = (typeof AGGREGATIONS)[number]

export type Metric = {
  readonly unit: string
  readonly aggregations: readonly Aggregation[]
  /** Its source: the activator or the platform's own objects; Prometheus if absent. */
  readonly by?: 'activator' | 'objects'
}

const LEVELS: readonly Aggregation[] = ['Average', 'Minimum', 'Maximum', 'Last', 'P95']
/** Sum is the number of events in each step. */
const RATES: readonly Aggregation[] = ['Average', 'Minimum', 'Maximum', 'Sum', 'Last', 'P95']
const LATENCIES: readonly Aggregation[] = ['Average', 'P50', 'P95', 'P99']

const level = (unit: string): Metric => ({ unit, aggregations: LEVELS })
const rate = (unit = '1/s'): Metric => ({ unit, aggregations: RATES })
/** Counted in steps, each with a single rate. */
const stepped = (by: NonNullable<Metric['by']>): Metric => ({
  unit: '1/s',
  aggregations: ['Average', 'Sum', 'Last'],
  by,
})
const latency: Metric = { unit: 'ms', aggregations: LATENCIES }

/** Metrics of everything that runs pods. */
const RUNNING = {
  CpuUsage: level('cores'),
  MemoryUsage: level('bytes'),
  CpuPercent: level('percent'),
  MemoryPercent: level('percent'),
  NetworkIn: level('bytes/s'),
  NetworkOut: level('bytes/s'),
  Restarts: { unit: 'count', aggregations: ['Sum', 'Last'] as readonly Aggregation[] },
  ReadyReplicas: level('count'),
} satisfies Record<string, Metric>

const STORED = { StorageUsed: level('bytes'), StoragePercent: level('percent') }
const WEB = {
  Requests: rate(),
  Errors4xx: rate(),
  Errors5xx: rate(),
  Latency: latency,
  BytesIn: rate('bytes/s'),
  BytesOut: rate('bytes/s'),
}

export const METRICS = {
  vectorclusters: {
    ...RUNNING,
    ...STORED,
    Collections: level('count'),
    Vectors: level('count'),
    SearchRequests: rate(),
    WriteRequests: rate(),
    SearchLatency: latency,
    PendingOperations: level('count'),
  },
  relationalclusters: {
    ...RUNNING,
    ...STORED,
    WalSize: level('bytes'),
    Connections: level('count'),
    ConnectionPercent: level('percent'),
    Transactions: rate(),
    Deadlocks: rate(),
    CacheHitRatio: level('ratio'),
    ReplicationLag: level('s'),
    WalFilesReady: level('count'),
    LastBackupAge: level('s'),
  },
  sqlclusters: {
    ...RUNNING,
    ...STORED,
    Connections: level('count'),
    BatchRequests: rate(),
    Deadlocks: rate(),
    PageLifeExpectancy: level('s'),
    BufferCacheHitRatio: level('ratio'),
  },
  containerinstances: { ...RUNNING, ...STORED, Requests: rate(), Errors5xx: rate(), Latency: latency },
  apps: { ...RUNNING, ...WEB, StorageUsed: STORED.StorageUsed },
  staticwebapps: { ...RUNNING, ...WEB, StorageUsed: STORED.StorageUsed },
  functionnamespaces: {
    ...RUNNING,
    Invocations: stepped('activator'),
    Errors: stepped('activator'),
    Throttles: stepped('activator'),
    ColdStarts: stepped('activator'),
    Duration: { unit: 'ms', aggregations: ['P50', 'P95', 'P99'], by: 'activator' },
    Replicas: level('count'),
  },
  jobs: { ...RUNNING, Duration: level('s') },
  objectstorageaccounts: {
    UsedBytes: level('bytes'),
    ObjectCount: level('count'),
    Requests: rate(),
    Errors: rate(),
    Throttles: rate(),
    Latency: latency,
    BytesIn: rate('bytes/s'),
    BytesOut: rate('bytes/s'),
  },
  secretvaults: {
    Reads: stepped('objects'),
    Writes: stepped('objects'),
    Refusals: stepped('objects'),
    SecretsExpiringSoon: { unit: 'count', aggregations: ['Last'], by: 'objects' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Metric>>>>
export type MetricCollection = keyof typeof METRICS
export const METRIC_COLLECTIONS = Object.keys(METRICS) as MetricCollection[]

export const PLATFORM_METRICS = {
  CpuAllocatable: level('cores'),
  CpuRequested: level('cores'),
  MemoryAllocatable: level('bytes'),
  MemoryRequested: level('bytes'),
  PodCount: level('count'),
  NodeReady: level('count'),
  VolumeUsed: level('bytes'),
  ApiRequests: rate(),
  ApiErrors: rate(),
  ApiLatency: latency,
  ReconcileQueue: level('count'),
  ReconcileErrors: rate(),
} as const satisfies Readonly<Record<string, Metric>>

/** Limits of a query: the longest span, and the seconds between two points. */
export const MAX_SPAN_DAYS = 31
export const MIN_STEP_SECONDS = 15
const POINTS = 120

export function defaultStepSeconds(seconds: number): number {
  return Math.max(MIN_STEP_SECONDS, Math.ceil(seconds / POINTS))
}

/** Returns the unit of an aggregation: a sum over a rate is an amount. */
export function unitOf({ unit }: Metric, aggregation: Aggregation): string {
  if (aggregation !== 'Sum') return unit
  return unit === '1/s' ? 'count' : unit.replace(/\/s$/, '')
}
