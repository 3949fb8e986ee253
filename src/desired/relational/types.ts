import type { Network } from '../../contracts/networks.ts'
import { type RelationalNames, relationalNames } from '../../contracts/relational.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { StatusOf } from '../../crds/define.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'

/** Where the platform stores backups: an S3 bucket. */
export type BackupTarget = {
  /** `https://...`; undefined for the provider's default. */
  endpoint: string | undefined
  bucket: string
  /** A folder in the bucket; may be empty. */
  prefix: string
  region: string | undefined
}

export type Origin = NonNullable<StatusOf<typeof RelationalCluster>['origin']>

/** Where the database writes its own backups. */
export type BackupDestination = {
  target: BackupTarget
  destinationPath: string
  serverName: string
  /** Retention of base backups; undefined while a snapshot is kept until it is deleted. */
  retentionDays: number | undefined
}

/** What the reconcile steps decide beyond the spec. */
export type RelationalDecisions = {
  cluster: RelationalCluster
  plan: EffectivePlan
  /** `max_connections`, unless the parameters set it. */
  maxConnections: number | undefined
  instances: number
  /** Undefined without backups. */
  backup: BackupDestination | undefined
  /** What takes snapshots of its volumes; undefined until somebody asks for one. */
  snapshotClass: string | undefined
  /** What the database is restored from; undefined for an empty one. */
  origin: Origin | undefined
  target: BackupTarget | undefined
  /** Addresses of the API server, if group pods cannot reach it. */
  apiServer: readonly Network[]
  /** Extensions currently in the Database object, from which unwanted ones are dropped. */
  installedExtensions: readonly string[]
}

/** Everything that the children of a relational database depend on, resolved beforehand. */
export type RelationalInput = RelationalDecisions & RelationalShared

type RelationalShared = WorkloadInput<RelationalNames>

export function relationalShared(cluster: RelationalCluster): RelationalShared {
  return workloadInput(cluster, relationalNames(cluster.metadata.name), 'postgresql')
}

export function relationalInput(decided: RelationalDecisions): RelationalInput {
  return { ...relationalShared(decided.cluster), ...decided }
}

/** API groups of CloudNativePG and its backup plugin. */
export const ENGINE_API = 'postgresql.cnpg.io/v1'
export const PLUGIN_API = 'barmancloud.cnpg.io/v1'
