import { randomUUID } from 'node:crypto'
import type { Backup, BackupLocation } from '../../contracts/backups.ts'
import { selectBackupLocation } from '../../contracts/backups.ts'
import type { ArchiveStore, DatabaseCluster } from '../../contracts/platformbackups/archives.ts'
import { isPlatformBackup, type VeleroSchedule } from '../../contracts/platformbackups/backups.ts'
import { type Restore, VELERO_CRD_NAMES, type VeleroCrd } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_BACKUP_LABEL, PLATFORM_SCHEDULE, SCHEDULE_LABEL } from '../../contracts/platformbackups/names.ts'
import { apiVersionOf, type KubeObject, type ObjectRef, type Resource } from '../../core/object.ts'
import { customResourceDefinition } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { ignoreKubeAlreadyExists, isKubeError } from '../../kube/errors.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import {
  veleroBackup,
  veleroBackupStorageLocation,
  veleroDeleteBackupRequest,
  veleroRestore,
  veleroSchedule,
} from '../../kube/velero.ts'

/** A Velero Backup with the fields that only platform administrators see. */
export type PlatformBackup = Backup & {
  status?: {
    queuePosition?: number
    progress?: { totalItems?: number; itemsBackedUp?: number }
  }
}

export type Location = BackupLocation & {
  spec?: {
    provider?: string
    objectStorage?: { bucket?: string; prefix?: string; caCert?: string; caCertRef?: object }
    config?: Readonly<Record<string, string>>
    credential?: object
  }
  status?: { message?: string; lastValidationTime?: string }
}

export type DatabaseBackup = KubeObject & { spec?: { cluster?: { name?: string } }; status?: { phase?: string } }

/**
 * Reads Velero and CloudNativePG objects on demand, because they are needed rarely and then must be current. Types that
 * are not installed have no objects.
 * @throws KubeError if the API server does not answer
 */
export interface BackupCluster {
  schedule(): Promise<VeleroSchedule | undefined>
  /** Returns Velero's default location, or its only one. */
  location(): Promise<Location | undefined>
  /** Returns backups of the platform only. */
  backups(): Promise<PlatformBackup[]>
  restores(): Promise<Restore[]>
  definitions(): Promise<VeleroCrd[]>
  databases(): Promise<DatabaseCluster[]>
  database(ref: ObjectRef): Promise<DatabaseCluster | undefined>
  stores(): Promise<ArchiveStore[]>
  /** Returns database backups that were taken as part of platform backups. */
  databaseBackups(): Promise<DatabaseBackup[]>
  /** Makes Velero take a backup. */
  take(backup: KubeObject): Promise<PlatformBackup>
  /** Deletes a backup and its data in the bucket. */
  remove(backup: PlatformBackup): Promise<void>
}

type Client = Pick<KubeClient, 'get' | 'list' | 'create'>

const READ = ['get', 'list']

/** Returns the permissions of the facade for this. */
export function platformBackupReads(): { resource: Resource; verbs: readonly string[]; resourceNames?: string[] }[] {
  const read = [veleroSchedule, veleroBackup, veleroBackupStorageLocation, veleroRestore]
  const databases = [postgresqlCluster, postgresqlBackup, barmanObjectStore]
  return [
    ...[...read, ...databases].map((resource) => ({ resource, verbs: READ })),
    { resource: veleroBackup, verbs: ['create'] },
    { resource: veleroDeleteBackupRequest, verbs: ['get', 'create'] },
    ...VELERO_CRD_NAMES.map((name) => ({
      resource: customResourceDefinition,
      verbs: ['get'],
      resourceNames: [name],
    })),
  ]
}

/** @param velero the namespace of Velero */
export function createBackupCluster(client: Client, velero: string): BackupCluster {
  async function listAll<T extends KubeObject>(resource: Resource, options: Parameters<Client['list']>[1] = {}) {
    return (await ifFound(() => client.list<T>(resource, options)))?.items ?? []
  }
  const getOne = <T extends KubeObject>(resource: Resource, ref: ObjectRef) =>
    ifFound(() => client.get<T>(resource, ref))
  const ofVelero = { namespace: velero }
  return {
    schedule: () => getOne<VeleroSchedule>(veleroSchedule, { ...ofVelero, name: PLATFORM_SCHEDULE }),
    location: async () =>
      selectBackupLocation(await listAll<Location>(veleroBackupStorageLocation, ofVelero)) as Location | undefined,
    async backups() {
      const labelSelector = `${SCHEDULE_LABEL}=${PLATFORM_SCHEDULE}`
      return (await listAll<PlatformBackup>(veleroBackup, { ...ofVelero, labelSelector })).filter(isPlatformBackup)
    },
    restores: () => listAll<Restore>(veleroRestore, ofVelero),
    async definitions() {
      const definitions = VELERO_CRD_NAMES.map((name) => getOne<VeleroCrd>(customResourceDefinition, { name }))
      return (await Promise.all(definitions)).filter((each) => each !== undefined)
    },
    databases: () => listAll<DatabaseCluster>(postgresqlCluster),
    database: (ref) => getOne<DatabaseCluster>(postgresqlCluster, ref),
    stores: () => listAll<ArchiveStore>(barmanObjectStore),
    databaseBackups: () => listAll<DatabaseBackup>(postgresqlBackup, { labelSelector: PLATFORM_BACKUP_LABEL }),
    take: (backup) => client.create<PlatformBackup>(veleroBackup, backup as PlatformBackup),
    async remove({ metadata: { name: backupName, labels } }) {
      const requestDeletion = (name: string) =>
        client.create(veleroDeleteBackupRequest, deletionOf({ ...ofVelero, name, labels }, backupName))
      if ((await requestDeletion(backupName).catch(ignoreKubeAlreadyExists)) !== undefined) return
      const before = await getOne<Deletion>(veleroDeleteBackupRequest, { ...ofVelero, name: backupName })
      // Velero tries each request once, and keeps a failed or interrupted one for a day.
      if (!isWaiting(before)) await requestDeletion(`${backupName}-${randomUUID().slice(0, 8)}`)
    },
  }
}

type Deletion = KubeObject & { status?: { phase?: string } }

const isWaiting = (request: Deletion | undefined) => request !== undefined && (request.status?.phase ?? 'New') === 'New'

type Place = { namespace: string; name: string; labels: Record<string, string> | undefined }

function deletionOf({ labels, ...place }: Place, backupName: string): KubeObject {
  return {
    apiVersion: apiVersionOf(veleroDeleteBackupRequest),
    kind: veleroDeleteBackupRequest.kind,
    metadata: { ...place, ...(labels !== undefined && { labels }) },
    spec: { backupName },
  }
}

/** Returns undefined if the object or its type does not exist. */
async function ifFound<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (isKubeError(error, 'NotFound', 'NotServed')) return undefined
    throw error
  }
}
