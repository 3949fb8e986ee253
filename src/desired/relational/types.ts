import type { Network } from '../../contracts/networks.ts'
import { type RelationalNames, relationalNames } from '../../contracts/relational.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { StatusOf } from '../../crds/define.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'

/** Where the platform keeps backups: a bucket that speaks S3. */
export type BackupTarget = {
  /** `https://...`; undefined for the provider's own. */
  endpoint: string | undefined
  bucket: string
  /** A folder in the bucket; may be empty. */
  prefix: string
  region: string | undefined
}

export type Origin = NonNullable<StatusOf<typeof RelationalCluster>['origin']>

/** Where this database's own backups go. */
export type BackupPlace = {
  target: BackupTarget
  destinationPath: string
  serverName: string
  /** How long base backups are kept; undefined while some snapshot is kept until somebody deletes it. */
  retentionDays: number | undefined
}

/** What the steps decide about a relational database, beyond what its spec says. */
export type RelationalDecisions = {
  cluster: RelationalCluster
  plan: EffectivePlan
  /** `max_connections` where the parameters name none. */
  maxConnections: number | undefined
  instances: number
  /** Undefined if nothing is backed up. */
  backup: BackupPlace | undefined
  /** What it is made from; undefined for an empty one. */
  origin: Origin | undefined
  target: BackupTarget | undefined
  /** Where the API server is, if it is closed to the pods of groups. */
  apiServer: readonly Network[]
  /** Extensions that the Database object asks for now; what is no longer wanted is taken out. */
  installedExtensions: readonly string[]
}

/** Everything that the children of a relational database depend on, decided before. */
export type RelationalInput = RelationalDecisions & RelationalShared

type RelationalShared = WorkloadInput<RelationalNames>

export function relationalShared(cluster: RelationalCluster): RelationalShared {
  return workloadInput(cluster, relationalNames(cluster.metadata.name), 'postgresql')
}

export function relationalInput(decided: RelationalDecisions): RelationalInput {
  return { ...relationalShared(decided.cluster), ...decided }
}

/** The API groups of CloudNativePG and of its plugin for backups. */
export const ENGINE_API = 'postgresql.cnpg.io/v1'
export const PLUGIN_API = 'barmancloud.cnpg.io/v1'
