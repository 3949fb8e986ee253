import type { SqlEngine } from '../../adapters/sql/port.ts'
import type { Network } from '../../contracts/networks.ts'
import { archiveServerName, relationalNames } from '../../contracts/relational.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SecretData } from '../../core/secretData.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import type { BackupDestination, BackupTarget, EngineView, Origin } from '../../desired/relational/index.ts'
import { postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import type { Pass, Step, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { belongsTo } from '../engine/ownership.ts'
import { refOfPass, type WorkloadState } from '../workload/pass.ts'

/** Injected by the composition root. */
export type RelationalOptions = {
  /** Whether `imageName` is allowed. */
  allowOwnImages: boolean
  /** Target for backups; undefined without one. */
  backupTarget: BackupTarget | undefined
  /** Addresses of the API server, if group pods cannot reach it; defaults to none. */
  apiServer?: readonly Network[] | undefined
  /** Connects to instances as their owner. */
  engine: Pick<SqlEngine, 'admit' | 'run'>
  /** Defaults to random ones. */
  generatePassword?: () => string
}

/** State shared between the steps of a pass. Each field is set by the named step and read by later ones only. */
export type RelationalState = WorkloadState & {
  /** limitConnections */
  maxConnections?: number | undefined
  /** checkStorage: size of the WAL volumes; undefined without any. */
  walStorageSize?: string | undefined
  /** resolveBackup */
  backup?: BackupDestination | undefined
  /** resolveOrigin */
  origin?: Origin | undefined
  /** refreshTargetCredentials, ensureSecrets: credentials of the backup target. */
  credentials?: SecretData | undefined
  /** ensureSecrets */
  owner?: { username: string; password: string } | undefined
  /** checkStorage: why volumes are not as requested. */
  volumes?: Outcome | undefined
  /** applyChildren */
  engine?: EngineCluster | undefined
}

export type RelationalPass = Pass<typeof RelationalCluster, RelationalState>
export type RelationalStep = Step<typeof RelationalCluster, RelationalState>

export type Stored<T> = T & { [key: string]: unknown }
export type StoredCluster = Stored<RelationalCluster>
export type StoredSnapshot = Stored<RelationalSnapshot>

/** The fields of CloudNativePG's Cluster that are read. */
export type EngineCluster = KubeObject & {
  spec: {
    instances?: number
    imageName?: string
    storage?: { size?: string; storageClass?: string }
    walStorage?: { size?: string }
    backup?: { volumeSnapshot?: { className?: string } }
  }
  status?: {
    phase?: string
    phaseReason?: string
    instances?: number
    readyInstances?: number
    currentPrimary?: string
    image?: string
    conditions?: EngineView['conditions'][number][]
  }
}

export type EngineBackup = KubeObject & {
  spec: { cluster?: { name?: string }; method?: string }
  status?: {
    phase?: string
    backupId?: string
    startedAt?: string
    stoppedAt?: string
    error?: string
    /** The VolumeSnapshots, by the role of their volume: PG_DATA, PG_WAL. */
    snapshotBackupStatus?: { elements?: { name: string; type: string }[] }
  }
}

export type EngineStore = KubeObject & {
  status?: {
    serverRecoveryWindow?: Record<string, { firstRecoverabilityPoint?: string; lastSuccessfulBackupTime?: string }>
  }
}

/** Returns the Cluster if it belongs to the database. */
export function observedEngine(pass: RelationalPass): EngineCluster | undefined {
  const { namespace, name } = refOfPass(pass)
  const found = pass.workloads.cache<EngineCluster>(postgresqlCluster).get(namespace, relationalNames(name).cluster)
  return found !== undefined && belongsTo(found, pass) ? found : undefined
}

/** Returns the Backups of a Cluster, in any state. */
export function backupsOf(workloads: Workspace, namespace: string, cluster: string): EngineBackup[] {
  return [...related(workloads.cache<EngineBackup>(postgresqlBackup), 'engine', namespace, cluster)]
}

/** Filters Backups of this incarnation of the database, by the archive in the snapshot, otherwise by start time. */
export function backupsOfIncarnation(pass: RelationalPass, backups: readonly EngineBackup[]): EngineBackup[] {
  const { namespace, name } = refOfPass(pass)
  const own = archiveServerName(relationalNames(name).cluster, pass.incarnation)
  const snapshots = related(pass.records.cache(RelationalSnapshot), 'parent', namespace, name)
  const servers = new Map(snapshots.map(({ status }) => [status?.backupName, status?.serverName]))
  const begin = Date.parse(pass.object.metadata.creationTimestamp ?? '')
  return backups.filter(({ metadata, status }) => {
    const server = servers.get(metadata.name)
    return server === undefined ? !(Date.parse(status?.startedAt ?? '') < begin) : server === own
  })
}

export function isCompleted({ status }: EngineBackup): boolean {
  return status?.phase === 'completed'
}

export const INSTALL_ENGINE =
  'CloudNativePG is not installed in this cluster: install its operator (https://cloudnative-pg.io), version 1.26 or later.'
export const INSTALL_PLUGIN =
  'The Barman Cloud plugin of CloudNativePG is not installed in this cluster: install it, or set backupEnabled to false.'
