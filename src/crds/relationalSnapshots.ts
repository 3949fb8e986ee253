import { z } from 'zod'
import { defineKind, type ObjectOf, partColumns, READ_VERBS, statusWith } from './define.ts'
import { DateTime, Description, integerBetween, Off, ResourceName } from './fields.ts'

export const SNAPSHOT_KINDS = ['Manual', 'Scheduled', 'Final'] as const
export const SNAPSHOT_METHODS = ['Object', 'Volume'] as const

export const DESTINATION_PATH = z.string().describe('Folder in the backup target, as an s3:// URL')
export const VOLUME_SNAPSHOTS = z.object({
  storage: z.string().describe('That of the data volume'),
  walStorage: z.string().optional().describe('That of the volume of the log; absent if the log is on the data volume'),
})
export const SERVER_NAME = z
  .string()
  .describe('Name of the backups in that folder, a new one for each incarnation of a database')

/** A backup of a relational database. It outlives a database that was deleted with `onDelete: Retain`. */
export const RelationalSnapshot = defineKind({
  group: 'data',
  kind: 'RelationalSnapshot',
  restNaming: { collection: 'snapshots' },
  shortNames: ['rsnap'],
  placement: 'group',
  // Its Backup is on the cluster of its database.
  runsAnywhere: true,
  area: 'relational',
  name: 'uuid',
  forms: {
    'relationalcluster/read': READ_VERBS,
    'relationalcluster/createSnapshot': ['create', 'update', 'patch'],
    'relationalcluster/deleteSnapshot': ['delete', 'deletecollection'],
  },
  description: 'A snapshot of a relational database, from which a new one can be created.',
  spec: z.strictObject({
    clusterName: ResourceName.describe('The RelationalCluster in the same group; immutable'),
    name: ResourceName.describe('A name for people, unique among the snapshots of the database; immutable'),
    description: Description.optional().describe('Purpose, as a text for people'),
    method: z
      .enum(SNAPSHOT_METHODS)
      .default('Object')
      .describe(
        'Object writes a base backup to the backup target; Volume takes snapshots of the volumes of the primary, which needs a VolumeSnapshotClass for their storage class; immutable',
      ),
    kind: z
      .enum(SNAPSHOT_KINDS)
      .default('Manual')
      .describe(
        'Manual on request; Scheduled by the schedule, deleted with its backup; Final before a deletion; immutable',
      ),
    retentionDays: integerBetween(1, 3650)
      .optional()
      .describe('Days after its completion until it is deleted; kept until somebody deletes it when absent'),
    forceDelete: Off.describe(
      'True allows the deletion of the last base backup of the recovery window; otherwise it waits for another one',
    ),
  }),
  status: statusWith({
    backupName: z.string().describe('Name of the Backup of CloudNativePG'),
    clusterId: z
      .string()
      .describe(
        "PlatformCluster that the Backup is on; absent on the platform's own, and until the Backup is requested",
      ),
    backupId: z.string().describe('Id of the base backup in the backup target'),
    serverName: SERVER_NAME,
    destinationPath: DESTINATION_PATH,
    engineVersion: z.string().describe('Major version of PostgreSQL of the database'),
    databaseName: z.string().describe('The database in it'),
    ownerName: z.string().describe('The role that owns that database'),
    storageSize: z.string().describe('Minimum size of a volume to restore it to, such as 20Gi'),
    walStorageSize: z.string().describe('The same for the volume of the log; absent if it has none of its own'),
    storageClass: z.string().describe('Storage class of the volumes of a Volume snapshot'),
    volumeSnapshots: VOLUME_SNAPSHOTS.describe('Names of the VolumeSnapshots of a Volume snapshot'),
    sizeBytes: z.int().describe('Size of these as their driver reports it, in bytes; absent otherwise'),
    startedAt: DateTime.describe('When the backup began'),
    completedAt: DateTime.describe('When the backup ended and could be restored; absent until then'),
    expiresAt: DateTime.describe('When it is deleted; absent if it does not expire'),
  }),
  immutable: ['clusterName', 'name', 'method', 'kind'],
  partOf: { collection: 'relationalclusters', field: 'clusterName', verb: 'createsnapshot' },
  admission: [
    {
      on: 'DELETE',
      cel: "variables.isPlatform || oldObject.?status.?phase.orValue('') != 'BackingUp'",
      message: 'the snapshot is being taken: delete it once it is complete',
    },
  ],
  columns: partColumns(
    { name: 'Database', path: '.spec.clusterName' },
    { name: 'Name', path: '.spec.name' },
    { name: 'Kind', path: '.spec.kind' },
    { name: 'Completed', path: '.status.completedAt', type: 'date' },
    { name: 'Expires', path: '.status.expiresAt', priority: 1 },
  ),
  selectable: ['spec.clusterName', 'status.phase'],
})
export type RelationalSnapshot = ObjectOf<typeof RelationalSnapshot>
