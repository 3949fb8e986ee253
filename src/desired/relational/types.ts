import { relationalSelector } from '../../contracts/relational.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { StatusOf } from '../../crds/define.ts'
import type { RelationalCluster } from '../../crds/relational.ts'

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

/** Everything that the children of a relational database depend on, decided before. */
export type RelationalInput = {
  cluster: RelationalCluster
  plan: EffectivePlan
  /** `max_connections` where the parameters name none. */
  maxConnections: number | undefined
  instances: number
  /** Undefined where nothing is backed up. */
  backup: BackupPlace | undefined
  /** What it is made from; undefined for an empty one. */
  origin: Origin | undefined
  target: BackupTarget | undefined
  /** Extensions that the Database object asks for now; what is no longer wanted is taken out. */
  installedExtensions: readonly string[]
}

export type Child<Kind extends string> = {
  apiVersion: string
  kind: Kind
  metadata: ObjectMeta
  spec: Record<string, unknown>
}

/** As the `data` of a Secret has it. */
export const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')

export function labelsOf(cluster: RelationalCluster): Record<string, string> {
  return {
    ...relationalSelector(cluster.metadata.name),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    'app.kubernetes.io/name': 'postgresql',
    'app.kubernetes.io/instance': cluster.metadata.name,
  }
}

export function child<Kind extends string>(
  { cluster }: Pick<RelationalInput, 'cluster'>,
  apiVersion: string,
  kind: Kind,
  name: string,
  spec: Record<string, unknown>,
  annotations?: Record<string, string>,
): Child<Kind> {
  const { namespace = '' } = cluster.metadata
  const metadata: ObjectMeta = { name, namespace, labels: labelsOf(cluster) }
  if (annotations !== undefined && Object.keys(annotations).length > 0) metadata.annotations = annotations
  return { apiVersion, kind, metadata, spec }
}
