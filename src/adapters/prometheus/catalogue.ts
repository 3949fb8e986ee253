import type { MetricCollection, PLATFORM_METRICS } from '../../contracts/metrics.ts'
import type { CapacityMetric } from './port.ts'
import type { Selection } from './selectors.ts'

/**
 * The PromQL of each metric. No caller's text gets in here: names come from `Selection`.
 *
 * Pods and nodes: cAdvisor in the kubelet (`container_*`), the kubelet (`kubelet_volume_*`), kube-state-metrics
 * (`kube_*`). Engines: Qdrant, CloudNativePG with its Barman Cloud plugin, exporters for SQL Server (`mssql_*`) and
 * MariaDB (`mysql_*`), SeaweedFS, and the Traefik of the Gateway. The platform: docs/reference/metrics.md.
 */
export type Entry = {
  /** The labels to group its series by, separated by commas. */
  readonly labels: string
} & (
  | { readonly level: (of: Selection) => string }
  /** A histogram in seconds; `part` is `bucket`, `sum` or `count`. */
  | { readonly histogram: (of: Selection, part: string) => string }
)

const POD = 'pod'
const CONTAINER = 'pod, container'
const RATE_WINDOW = '[3m]'

const cpu = (of: Selection) =>
  of.sum(CONTAINER, `rate(${of.containers('container_cpu_usage_seconds_total')}${RATE_WINDOW})`)
const memory = (of: Selection) => of.sum(CONTAINER, of.containers('container_memory_working_set_bytes'))
const limit = (of: Selection, resource: string) =>
  of.sum(CONTAINER, of.containers('kube_pod_container_resource_limits', `resource="${resource}"`))
const request = (of: Selection, resource: string) =>
  of.sum(CONTAINER, of.containers('kube_pod_container_resource_requests', `resource="${resource}"`))
const network = (direction: 'receive' | 'transmit') => (of: Selection) =>
  of.sum(POD, `rate(${of.pods(`container_network_${direction}_bytes_total`)}${RATE_WINDOW})`)
const ready = (of: Selection) => of.sum(POD, of.pods('kube_pod_status_ready', 'condition="true"'))
const perSecond = (labels: string, select: (of: Selection) => string): Entry => ({
  labels,
  level: (of) => of.sum(labels, `rate(${select(of)}${RATE_WINDOW})`),
})
const percent = (part: string, whole: string) => `100 * ${part} / (${whole} > 0)`

const RUNNING = {
  CpuUsage: { labels: CONTAINER, level: cpu },
  MemoryUsage: { labels: CONTAINER, level: memory },
  CpuPercent: { labels: CONTAINER, level: (of: Selection) => percent(cpu(of), limit(of, 'cpu')) },
  MemoryPercent: { labels: CONTAINER, level: (of: Selection) => percent(memory(of), limit(of, 'memory')) },
  NetworkIn: { labels: POD, level: network('receive') },
  NetworkOut: { labels: POD, level: network('transmit') },
  Restarts: {
    labels: CONTAINER,
    level: (of: Selection) => of.sum(CONTAINER, of.containers('kube_pod_container_status_restarts_total')),
  },
  ReadyReplicas: { labels: POD, level: ready },
} as const

const CLAIM = 'persistentvolumeclaim'
const EACH_CLAIM = 'namespace, persistentvolumeclaim'
const used = (of: Selection) => of.sum(CLAIM, of.claims('kubelet_volume_stats_used_bytes'))
const capacity = (of: Selection) => of.sum(CLAIM, of.claims('kubelet_volume_stats_capacity_bytes'))
const StorageUsed = { labels: CLAIM, level: used }
const STORED = {
  StorageUsed,
  StoragePercent: { labels: CLAIM, level: (of: Selection) => percent(used(of), capacity(of)) },
}

/** Search endpoints of Qdrant. */
const SEARCHES = 'endpoint=~"/collections/[^/]+/points/(search|query|recommend|discover|scroll)(/.*)?"'
const WRITES = 'method=~"PUT|POST",endpoint=~"/collections/[^/]+/points(/(delete|batch|payload|vectors)(/.*)?)?"'

const ratePerPod = (of: Selection, what: string) => of.sum(POD, `rate(${of.pods(what)}${RATE_WINDOW})`)

const backends = (of: Selection) => of.sum(POD, of.pods('cnpg_backends_total'))
const maxBackends = (of: Selection) => of.sum(POD, of.pods('cnpg_pg_settings_setting', 'name="max_connections"'))
const blocks = (of: Selection, what: 'hit' | 'read') => ratePerPod(of, `cnpg_pg_stat_database_blks_${what}`)

/** For metrics that two engines name differently: each pod runs only one of them. */
const either = (one: string, other: string) => `(${one} or ${other})`

const requestsWith =
  (...codes: string[]) =>
  (of: Selection) =>
    of.routes('traefik_service_requests_total', ...codes)
const WEB = {
  Requests: perSecond('', requestsWith()),
  Errors4xx: perSecond('', requestsWith('code=~"4.."')),
  Errors5xx: perSecond('', requestsWith('code=~"5.."')),
  Latency: {
    labels: '',
    histogram: (of: Selection, part: string) => of.routes(`traefik_service_request_duration_seconds_${part}`),
  },
  BytesIn: perSecond('', (of) => of.routes('traefik_service_requests_bytes_total')),
  BytesOut: perSecond('', (of) => of.routes('traefik_service_responses_bytes_total')),
} as const

const BUCKET = 'bucket'
const requests = (of: Selection, ...more: string[]) => of.buckets('SeaweedFS_s3_request_total', ...more)

/** Metrics by collection, without those that come from the activator or from our own objects. */
export const CATALOGUE: Readonly<Record<Exclude<MetricCollection, 'secretvaults'>, Readonly<Record<string, Entry>>>> = {
  vectorclusters: {
    ...RUNNING,
    ...STORED,
    Collections: { labels: POD, level: (of) => of.max(POD, of.pods('collections_total')) },
    Vectors: { labels: POD, level: (of) => of.sum(POD, of.pods('collections_vector_total')) },
    SearchRequests: perSecond(POD, (of) => of.pods('rest_responses_total', SEARCHES)),
    WriteRequests: perSecond(POD, (of) => of.pods('rest_responses_total', WRITES)),
    SearchLatency: {
      labels: POD,
      histogram: (of, part) => of.pods(`rest_responses_duration_seconds_${part}`, SEARCHES),
    },
    PendingOperations: { labels: POD, level: (of) => of.max(POD, of.pods('cluster_pending_operations_total')) },
  },
  relationalclusters: {
    ...RUNNING,
    ...STORED,
    WalSize: { labels: POD, level: (of) => of.sum(POD, of.pods('cnpg_collector_pg_wal', 'value="size"')) },
    Connections: { labels: POD, level: backends },
    ConnectionPercent: { labels: POD, level: (of) => percent(backends(of), maxBackends(of)) },
    Transactions: {
      labels: POD,
      level: (of) =>
        `${ratePerPod(of, 'cnpg_pg_stat_database_xact_commit')} + ${ratePerPod(of, 'cnpg_pg_stat_database_xact_rollback')}`,
    },
    Deadlocks: perSecond(POD, (of) => of.pods('cnpg_pg_stat_database_deadlocks')),
    CacheHitRatio: {
      labels: POD,
      level: (of) => `${blocks(of, 'hit')} / ((${blocks(of, 'hit')} + ${blocks(of, 'read')}) > 0)`,
    },
    ReplicationLag: { labels: POD, level: (of) => of.max(POD, of.pods('cnpg_pg_replication_lag')) },
    WalFilesReady: {
      labels: POD,
      level: (of) => of.max(POD, of.pods('cnpg_collector_pg_wal_archive_status', 'value="ready"')),
    },
    LastBackupAge: {
      labels: '',
      level: (of) =>
        `time() - max (${either(
          `${of.pods('barman_cloud_cloudnative_pg_io_last_available_backup_timestamp')} > 0`,
          `${of.pods('cnpg_collector_last_available_backup_timestamp')} > 0`,
        )})`,
    },
  },
  sqlclusters: {
    ...RUNNING,
    ...STORED,
    Connections: {
      labels: POD,
      level: (of) =>
        either(
          of.sum(POD, of.pods('mssql_connections')),
          of.sum(POD, of.pods('mysql_global_status_threads_connected')),
        ),
    },
    BatchRequests: {
      labels: POD,
      level: (of) => either(ratePerPod(of, 'mssql_batch_requests'), ratePerPod(of, 'mysql_global_status_questions')),
    },
    Deadlocks: {
      labels: POD,
      level: (of) => either(ratePerPod(of, 'mssql_deadlocks'), ratePerPod(of, 'mysql_global_status_innodb_deadlocks')),
    },
    PageLifeExpectancy: { labels: POD, level: (of) => of.max(POD, of.pods('mssql_page_life_expectancy')) },
    BufferCacheHitRatio: {
      labels: POD,
      level: (of) =>
        either(
          `${of.average(POD, of.pods('mssql_buffer_cache_hit_ratio'))} / 100`,
          `1 - ${ratePerPod(of, 'mysql_global_status_innodb_buffer_pool_reads')} / (${ratePerPod(of, 'mysql_global_status_innodb_buffer_pool_read_requests')} > 0)`,
        ),
    },
  },
  containerinstances: {
    ...RUNNING,
    ...STORED,
    Requests: WEB.Requests,
    Errors5xx: WEB.Errors5xx,
    Latency: WEB.Latency,
  },
  apps: { ...RUNNING, ...WEB, StorageUsed },
  staticwebapps: { ...RUNNING, ...WEB, StorageUsed },
  functionnamespaces: { ...RUNNING, Replicas: { labels: POD, level: ready } },
  jobs: {
    ...RUNNING,
    Duration: {
      labels: 'job_name',
      level: (of) =>
        of.max(
          'job_name',
          either(
            `${of.jobs('kube_job_status_completion_time')} - ${of.jobs('kube_job_status_start_time')}`,
            `((time() - ${of.jobs('kube_job_status_start_time')}) and ${of.jobs('kube_job_status_active')} > 0)`,
          ),
        ),
    },
  },
  objectstorageaccounts: {
    UsedBytes: { labels: BUCKET, level: (of) => of.max(BUCKET, of.buckets('SeaweedFS_s3_bucket_size_bytes')) },
    ObjectCount: { labels: BUCKET, level: (of) => of.max(BUCKET, of.buckets('SeaweedFS_s3_bucket_object_count')) },
    Requests: perSecond(BUCKET, (of) => requests(of)),
    Errors: perSecond(BUCKET, (of) => requests(of, 'code=~"5.."')),
    Throttles: perSecond(BUCKET, (of) => requests(of, 'code=~"429|503"')),
    Latency: { labels: BUCKET, histogram: (of, part) => of.buckets(`SeaweedFS_s3_request_seconds_${part}`) },
    BytesIn: perSecond(BUCKET, (of) => of.buckets('SeaweedFS_s3_bucket_traffic_received_bytes_total')),
    BytesOut: perSecond(BUCKET, (of) => of.buckets('SeaweedFS_s3_bucket_traffic_sent_bytes_total')),
  },
}

const NODES = 'kube_node_status_allocatable'
const REQUESTED = 'kube_pod_container_resource_requests'

export const PLATFORM_CATALOGUE: Readonly<Record<keyof typeof PLATFORM_METRICS, Entry>> = {
  CpuAllocatable: { labels: '', level: () => `sum (${NODES}{resource="cpu"})` },
  CpuRequested: { labels: '', level: () => `sum (${REQUESTED}{resource="cpu"})` },
  MemoryAllocatable: { labels: '', level: () => `sum (${NODES}{resource="memory"})` },
  MemoryRequested: { labels: '', level: () => `sum (${REQUESTED}{resource="memory"})` },
  PodCount: { labels: '', level: () => 'sum (kube_pod_status_phase{phase="Running"})' },
  NodeReady: { labels: '', level: () => 'sum (kube_node_status_condition{condition="Ready",status="true"})' },
  VolumeUsed: { labels: '', level: () => 'sum (kubelet_volume_stats_used_bytes)' },
  ApiRequests: perSecond('', (of) => of.own('http_server_request_duration_seconds_count')),
  ApiErrors: perSecond('', (of) =>
    of.own('http_server_request_duration_seconds_count', 'http_response_status_code=~"5.."'),
  ),
  ApiLatency: { labels: '', histogram: (of, part) => of.own(`http_server_request_duration_seconds_${part}`) },
  ReconcileQueue: { labels: '', level: (of) => `sum (${of.own('workqueue_depth')})` },
  ReconcileErrors: perSecond('', (of) => of.own('controller_runtime_reconcile_errors_total')),
}

/** Metrics for utilization, the same for all collections. */
export const CAPACITIES: Readonly<Record<CapacityMetric, Entry>> = {
  CpuLimit: { labels: CONTAINER, level: (of) => limit(of, 'cpu') },
  CpuRequest: { labels: CONTAINER, level: (of) => request(of, 'cpu') },
  MemoryLimit: { labels: CONTAINER, level: (of) => limit(of, 'memory') },
  MemoryRequest: { labels: CONTAINER, level: (of) => request(of, 'memory') },
  ClaimUsed: { labels: EACH_CLAIM, level: (of) => of.sum(EACH_CLAIM, of.volumes('kubelet_volume_stats_used_bytes')) },
  ClaimInodesUsed: {
    labels: EACH_CLAIM,
    level: (of) =>
      percent(
        of.sum(EACH_CLAIM, of.volumes('kubelet_volume_stats_inodes_used')),
        of.sum(EACH_CLAIM, of.volumes('kubelet_volume_stats_inodes')),
      ),
  },
  /** Bytes per day, from the trend of the last day. */
  ClaimGrowth: {
    labels: EACH_CLAIM,
    level: (of) => of.sum(EACH_CLAIM, `86400 * deriv(${of.volumes('kubelet_volume_stats_used_bytes')}[1d])`),
  },
  StorageCapacity: { labels: CLAIM, level: capacity },
  ConnectionLimit: {
    labels: POD,
    level: (of) => either(maxBackends(of), of.sum(POD, of.pods('mysql_global_variables_max_connections'))),
  },
}
