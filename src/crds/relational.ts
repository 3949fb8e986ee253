import { z } from 'zod'
import { isRefusedParameter, REFUSED_PARAMETER_PREFIXES, REFUSED_PARAMETERS } from '../contracts/relational.ts'
import { defineKind, type ObjectOf, type Rule, requireOwnerVerb, resourceColumns, statusWith } from './define.ts'
import { Bytes, DateTime, integerBetween, mapOf, Off, PlainText, ResourceName, Tags, Uuid } from './fields.ts'
import { mapKeysRule } from './mapRules.ts'
import { DESTINATION_PATH, SERVER_NAME, VOLUME_SNAPSHOTS } from './relationalSnapshots.ts'
import { CronSchedule } from './schedule.ts'
import { tagKeyRule } from './tags.ts'
import {
  AcceptedPlan,
  AllowedCidrs,
  BackupRetentionDays,
  ClusterId,
  DeletionProtection,
  EnableLoadBalancer,
  ExternalAddresses,
  LastRestartedAt,
  OnDelete,
  OwnImage,
  PodSelector,
  planOverrides,
  ReadyReplicas,
  RestartedAt,
  Running,
  WantedReplicas,
} from './workloadFields.ts'
import { allowedCidrsRule, celList, growOnlyRule, requestLimitRules } from './workloadRules.ts'

/** Major versions of PostgreSQL that can be chosen, oldest first; the last one is the default. */
export const RELATIONAL_VERSIONS = ['14', '15', '16', '17'] as const
export const NEWEST_RELATIONAL_VERSION = '17'
/** The first version that CloudNativePG upgrades to (its `cluster_webhook.go`). */
const MIN_UPGRADE_VERSION = 16

/** Extensions of the engine's own image that need no library loaded at the start. */
export const RELATIONAL_EXTENSIONS = [
  'bloom',
  'btree_gin',
  'btree_gist',
  'citext',
  'cube',
  'dict_int',
  'earthdistance',
  'fuzzystrmatch',
  'hstore',
  'intarray',
  'isn',
  'lo',
  'ltree',
  'pg_trgm',
  'pgcrypto',
  'seg',
  'tablefunc',
  'tsm_system_rows',
  'tsm_system_time',
  'unaccent',
  'uuid-ossp',
  'vector',
] as const

export const POOLER_MODES = ['Session', 'Transaction'] as const
export const ARCHIVING_STATES = ['Disabled', 'Healthy', 'Failing', 'Suspended'] as const

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/
const IDENTIFIER_MESSAGE =
  'must be 1 to 63 lower-case letters, digits and underscores that begin with a letter or underscore'

const restoreFrom = z.strictObject({
  clusterName: ResourceName.describe('The database that the snapshot was taken of'),
  resourceGroup: ResourceName.optional().describe(
    'The group that it is in; the same when absent; another one through REST only',
  ),
  snapshotId: Uuid.describe('Name of the RelationalSnapshot'),
  targetTime: DateTime.optional().describe(
    'Time to restore to, after the snapshot; the end of the snapshot when absent',
  ),
})

const spec = z.strictObject({
  clusterId: ClusterId,
  computePlan: ResourceName.optional().describe(
    'Name of a ComputePlan of family Relational; the default one when absent',
  ),
  ...planOverrides,
  walStorageSize: Bytes.optional().describe(
    'Size of a separate volume for the write-ahead log; may grow, not shrink or be removed; the log is on the data volume when absent',
  ),
  replicas: integerBetween(1, 9)
    .optional()
    .describe("Instances, one of which is the primary; the plan's number is written here when absent"),
  engineVersion: z
    .enum(RELATIONAL_VERSIONS)
    .default(NEWEST_RELATIONAL_VERSION)
    .describe('Major version of PostgreSQL; only goes up, and the database is offline during the upgrade'),
  imageName: OwnImage,
  databaseName: z
    .string()
    .regex(IDENTIFIER, IDENTIFIER_MESSAGE)
    .max(63)
    .default('app')
    .describe('The database to create; a restored one keeps the name of its origin; immutable'),
  ownerName: z
    .string()
    .regex(IDENTIFIER, IDENTIFIER_MESSAGE)
    .max(63)
    .default('app')
    .describe(
      'The role that owns the database and that clients use; a restored one keeps the role of its origin; immutable',
    ),
  extensions: z
    .array(z.enum(RELATIONAL_EXTENSIONS))
    .max(32)
    .default([])
    .describe('Extensions of the database; one that is removed from the list is dropped unless something needs it'),
  // CloudNativePG quotes a value but does not escape it: a backslash or a line break would begin another setting.
  parameters: mapOf(PlainText.max(1024).regex(/^[^\\]*$/, 'must have no backslash'), 100)
    .prefault({})
    .describe('Settings of postgresql.conf by name; those that run code or belong to the platform are refused'),
  synchronousReplicas: integerBetween(0, 8)
    .default(0)
    .describe('Number of replicas that must confirm a commit; fewer than the instances'),
  enablePooler: Off.describe(
    'True puts PgBouncer before the primary, with a Service of its own, while the database runs',
  ),
  poolerMode: z
    .enum(POOLER_MODES)
    .default('Session')
    .describe(
      'When a client returns a connection to the pool: Session when it disconnects, Transaction after each transaction',
    ),
  enableLoadBalancer: EnableLoadBalancer,
  allowedCidrs: AllowedCidrs,
  backupEnabled: z
    .boolean()
    .optional()
    .describe('Whether backups and the log are written to the backup target; when absent, if the platform has one'),
  backupSchedule: CronSchedule.default('0 2 * * *').describe(
    'When base backups are taken, as cron in five fields, UTC',
  ),
  backupRetentionDays: BackupRetentionDays,
  archivingSuspended: Off.describe(
    'True stops archiving the log, which restarts the instances and leaves a gap in the recovery window',
  ),
  deletionProtection: DeletionProtection,
  finalSnapshotOnDelete: Off.describe('True makes a deletion take a last snapshot and wait for it'),
  restoreFrom: restoreFrom
    .optional()
    .describe('The snapshot to create it from; an empty database when absent; immutable'),
  takesOver: ResourceName.optional().describe(
    'A database of the group whose connection Services lead here once this one is ready, and which is then stopped; immutable',
  ),
  connectTo: ResourceName.optional().describe(
    'A database of the group to which the connection Services of this one lead instead; to itself when absent',
  ),
  running: Running,
  restartedAt: RestartedAt,
  onDelete: OnDelete.describe(
    'Delete removes the snapshots with it, except the last one; Retain takes a last one and keeps them all',
  ),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

const RESERVED_DATABASES = ['postgres', 'template0', 'template1']
const RESERVED_OWNERS = ['postgres', 'streaming_replica']
const PARAMETER_NAME = '^[a-z_][a-z0-9_.]{0,62}$'

const rules: Rule<Spec>[] = [
  tagKeyRule,
  ...requestLimitRules,
  growOnlyRule('storageSize'),
  growOnlyRule('walStorageSize'),
  {
    cel: '!has(oldSelf.walStorageSize) || has(self.walStorageSize)',
    message: 'walStorageSize cannot be removed once it is set: the log cannot move back to the data volume',
    field: 'walStorageSize',
    test: (next, previous) => previous.walStorageSize === undefined || next.walStorageSize !== undefined,
  },
  {
    cel: 'int(self.engineVersion) >= int(oldSelf.engineVersion)',
    message: 'engineVersion cannot go back: an older engine does not read the newer files',
    code: 'DOWNGRADE_REFUSED',
    field: 'engineVersion',
    test: (next, previous) => Number(next.engineVersion) >= Number(previous.engineVersion),
  },
  {
    cel: `self.engineVersion == oldSelf.engineVersion || int(self.engineVersion) >= ${MIN_UPGRADE_VERSION}`,
    message: `engineVersion can go up to ${MIN_UPGRADE_VERSION} or later only: the engine does not upgrade to earlier versions`,
    code: 'RULE_VIOLATION',
    field: 'engineVersion',
    test: (next, previous) =>
      next.engineVersion === previous.engineVersion || Number(next.engineVersion) >= MIN_UPGRADE_VERSION,
  },
  {
    cel: `!(self.databaseName in ${celList(RESERVED_DATABASES)})`,
    message: `databaseName must not be one of the engine's own: ${RESERVED_DATABASES.join(', ')}`,
    field: 'databaseName',
    test: (next) => !RESERVED_DATABASES.includes(next.databaseName),
  },
  {
    cel: `!(self.ownerName in ${celList(RESERVED_OWNERS)}) && !self.ownerName.startsWith('pg_')`,
    message: `ownerName must not be one of the engine's own: ${RESERVED_OWNERS.join(', ')} and what begins with pg_`,
    field: 'ownerName',
    test: (next) => !RESERVED_OWNERS.includes(next.ownerName) && !next.ownerName.startsWith('pg_'),
  },
  mapKeysRule('parameters', {
    cel: `k.matches('${PARAMETER_NAME}')`,
    message: 'a name in parameters must have 1 to 63 lower-case letters, digits, underscores and dots',
    test: (name) => new RegExp(PARAMETER_NAME).test(name),
  }),
  mapKeysRule('parameters', {
    cel: `!(k in ${celList(REFUSED_PARAMETERS)}) && ${REFUSED_PARAMETER_PREFIXES.map((prefix) => `!k.startsWith('${prefix}')`).join(' && ')}`,
    message: 'parameters must not contain what runs code or belongs to the platform, such as archive_command or ssl',
    code: 'PARAMETER_REFUSED',
    test: (name) => !isRefusedParameter(name),
  }),
  {
    cel: 'self.synchronousReplicas == 0 || !has(self.replicas) || self.synchronousReplicas < self.replicas',
    message: 'synchronousReplicas must be less than replicas: the primary is not a replica',
    field: 'synchronousReplicas',
    test: ({ synchronousReplicas: wanted, replicas }) => wanted === 0 || replicas === undefined || wanted < replicas,
  },
  allowedCidrsRule,
  {
    cel: '!has(self.takesOver) || (has(self.restoreFrom) && !has(self.restoreFrom.resourceGroup) && self.restoreFrom.clusterName == self.takesOver)',
    message:
      'takesOver must name the database of restoreFrom, in the same group: only a database with the same data can take over a name',
    field: 'takesOver',
    test: (next) =>
      next.takesOver === undefined ||
      (next.restoreFrom?.clusterName === next.takesOver && next.restoreFrom.resourceGroup === undefined),
  },
]

/** The origin of a restored database, recorded when it was made because the snapshot may be deleted afterwards. */
const origin = z.object({
  clusterName: z.string().describe('The database that the snapshot was taken of'),
  snapshotId: z.string().optional().describe('Name of the RelationalSnapshot'),
  targetTime: DateTime.optional().describe('Time that was restored to; the end of the snapshot when absent'),
  destinationPath: DESTINATION_PATH,
  serverName: SERVER_NAME,
  backupId: z.string().optional().describe('Id of the base backup in the backup target'),
  volumeSnapshots: VOLUME_SNAPSHOTS.optional().describe('Names of the VolumeSnapshots of a Volume snapshot'),
  storageClass: z.string().optional().describe('Storage class of the volumes of a Volume snapshot'),
  databaseName: z.string().describe('The database in it'),
  ownerName: z.string().describe('The role that owns that database'),
})

const range = z.object({
  from: z.string().describe('When the archive was suspended'),
  to: z.string().optional().describe('When the first base backup after it began; absent until there is one'),
})

const RESOURCE = { group: 'data.freehold.dev', plural: 'relationalclusters' }

/** A relational database: PostgreSQL instances kept by CloudNativePG, with addresses, archive and snapshots. */
export const RelationalCluster = defineKind({
  group: 'data',
  kind: 'RelationalCluster',
  sized: 'Relational',
  runsAnywhere: true,
  shortNames: ['relc'],
  placement: 'group',
  area: 'relational',
  actions: 'relationalcluster',
  forms: {
    'relationalcluster/restoreSnapshot': ['restoresnapshot'],
    'relationalcluster/createSnapshot': ['createsnapshot'],
  },
  // Whoever reads the credentials of this database would get those of the other one.
  protectedFields: { connectTo: 'administrators' },
  admission: [
    // A restore gives access to everything in the snapshot.
    requireOwnerVerb(
      RESOURCE,
      'restoreFrom.clusterName',
      'restoresnapshot',
      'restoreFrom names a database whose snapshots you may not restore',
    ),
    requireOwnerVerb(RESOURCE, 'takesOver', 'update', 'takesOver names a database that you may not change'),
  ],
  description: 'A relational database of one or more instances.',
  spec,
  status: statusWith({
    computePlan: AcceptedPlan,
    replicas: WantedReplicas,
    readyReplicas: ReadyReplicas,
    selector: PodSelector,
    currentPrimary: z.string().describe('Name of the pod that accepts writes now'),
    publicEndpoint: z.string().describe('Address and port of the load balancer; absent without one'),
    externalAddresses: ExternalAddresses,
    restartedAt: LastRestartedAt,
    engineVersion: z.string().describe('Major version that every instance runs'),
    archiving: z
      .enum(ARCHIVING_STATES)
      .describe('State of the log archive: Disabled without backups, Healthy, Failing, or Suspended by the spec'),
    archivingMessage: z.string().describe("Why the archive fails, in the engine's words; absent otherwise"),
    archivingStoppedAt: DateTime.describe(
      'Since when nothing is archived, which ends the recovery window; absent while archiving works',
    ),
    archivingGaps: z
      .array(range)
      .describe('Periods from which nothing can be restored, because the archive was suspended'),
    backupEnabled: z.boolean().describe('Whether it is backed up: this is wanted, and the platform has a target'),
    backupMessage: z.string().describe("Why the last backup failed, in the engine's words; absent otherwise"),
    lastBackupAt: DateTime.describe('When the last successful base backup ended'),
    firstRecoverableAt: DateTime.describe('The earliest time that can be restored'),
    serverName: SERVER_NAME,
    destinationPath: DESTINATION_PATH,
    origin: origin.describe('What it was restored from; absent for a database that was created empty'),
    tookOverAt: DateTime.describe('When the connection Services of spec.takesOver were redirected here'),
    finalSnapshotAt: DateTime.describe('When the last snapshot before the deletion was begun; absent before'),
    editorAdmittedFor: z
      .string()
      .describe('uid of the Cluster of the engine on whose tables the logins of the editor have rights'),
  }),
  scale: { replicas: '.spec.replicas', ready: '.status.replicas', selector: '.status.selector' },
  immutable: ['clusterId', 'storageClass', 'imageName', 'databaseName', 'ownerName', 'restoreFrom', 'takesOver'],
  rules,
  columns: resourceColumns(
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'Replicas', path: '.spec.replicas', type: 'integer' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Version', path: '.spec.engineVersion' },
    { name: 'Primary', path: '.status.currentPrimary' },
    { name: 'Archiving', path: '.status.archiving' },
    { name: 'Last Backup', path: '.status.lastBackupAt', type: 'date', priority: 1 },
  ),
  selectable: ['spec.computePlan', 'status.phase'],
})
export type RelationalCluster = ObjectOf<typeof RelationalCluster>
