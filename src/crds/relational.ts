import { z } from 'zod'
import { isCidrList } from '../core/cidr.ts'
import { compareQuantities } from '../core/quantity.ts'
import { isRefusedParameter, REFUSED_PARAMETER_PREFIXES, REFUSED_PARAMETERS } from '../core/relational.ts'
import { defineKind, type ObjectOf, type Rule, resourceStatus, statusColumns } from './define.ts'
import { DateTime, Description, Quantity, ResourceName, Tags, Uuid } from './fields.ts'
import { tagKeyRule } from './tags.ts'

/** Major versions of PostgreSQL that can be chosen, oldest first; the last one is the default. */
export const RELATIONAL_VERSIONS = ['14', '15', '16', '17'] as const
export const NEWEST_RELATIONAL_VERSION = '17'

/** Extensions of the engine's own image: they need no library to be loaded at the start. */
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
export const SNAPSHOT_KINDS = ['Manual', 'Scheduled', 'Final'] as const
export const SNAPSHOT_METHODS = ['Object', 'Volume'] as const

/** Five fields, each of numbers, ranges, steps and lists (crontab(5) without names). */
export const CRON_PATTERN = '^([0-9*/,-]+ ){4}[0-9*/,-]+$'
const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/

const restoreFrom = z.strictObject({
  clusterName: ResourceName.describe('The database that the snapshot was taken of'),
  resourceGroup: ResourceName.optional().describe('Where it is; the same group when absent. REST only'),
  snapshotId: Uuid,
  targetTime: DateTime.optional().describe('To this moment; to the end of the snapshot when absent'),
})

const spec = z.strictObject({
  clusterId: Uuid.optional().describe("Where it runs; the boundary's default cluster when absent"),
  computePlan: ResourceName.optional().describe('A plan of family Relational; the default plan when absent'),
  cpuRequest: Quantity.optional().describe("Overrides the plan's"),
  cpuLimit: Quantity.optional(),
  memoryRequest: Quantity.optional(),
  memoryLimit: Quantity.optional(),
  storageSize: Quantity.optional().describe("Overrides the plan's; may grow, never shrink"),
  storageClass: z.string().min(1).max(63).optional(),
  walStorageSize: Quantity.optional().describe('A volume of its own for the log; on the data volume when absent'),
  replicas: z.int().min(1).max(9).optional().describe('Instances, one of which is the primary'),
  engineVersion: z.enum(RELATIONAL_VERSIONS).default(NEWEST_RELATIONAL_VERSION).describe('Major version; up only'),
  imageName: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[a-z0-9][a-zA-Z0-9._:/@-]*$/)
    .optional()
    .describe('An image of your own, where the platform allows it'),
  databaseName: z.string().regex(IDENTIFIER).max(63).default('app'),
  ownerName: z.string().regex(IDENTIFIER).max(63).default('app'),
  extensions: z.array(z.enum(RELATIONAL_EXTENSIONS)).max(32).default([]),
  parameters: z
    .record(z.string(), z.string().max(1024))
    .meta({ maxProperties: 100 })
    .prefault({})
    .describe('Of postgresql.conf; not those that run code or belong to the platform'),
  synchronousReplicas: z.int().min(0).max(8).default(0).describe('Replicas that must have a commit before it counts'),
  enablePooler: z.boolean().default(false),
  poolerMode: z.enum(POOLER_MODES).default('Session'),
  enableLoadBalancer: z.boolean().default(false),
  allowedCidrs: z
    .string()
    .max(2400)
    .optional()
    .describe('Comma-separated networks that may use the load balancer; all when absent'),
  backupEnabled: z.boolean().optional().describe('Where the platform has a backup target, when absent'),
  backupSchedule: z.string().max(100).regex(new RegExp(CRON_PATTERN)).default('0 2 * * *').describe('Five fields, UTC'),
  backupRetentionDays: z.int().min(1).max(365).default(14),
  archivingSuspended: z.boolean().default(false).describe('Stops the archive of the log; the instances restart'),
  deletionProtection: z.boolean().default(false),
  finalSnapshotOnDelete: z.boolean().default(false),
  restoreFrom: restoreFrom.optional().describe('Made from a snapshot instead of empty'),
  takesOver: ResourceName.optional().describe(
    'Once ready, the connection Services of that database point here and it is stopped; same group',
  ),
  connectTo: ResourceName.optional().describe(
    'The connection Services of this one point to that database of the group instead',
  ),
  running: z.boolean().default(true),
  restartedAt: DateTime.optional().describe('A later time restarts every instance in turn'),
  onDelete: z
    .enum(['Delete', 'Retain'])
    .default('Delete')
    .describe('What becomes of the snapshots; Retain takes a last one first'),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

function noGreater(lower: 'cpuRequest' | 'memoryRequest', upper: 'cpuLimit' | 'memoryLimit'): Rule<Spec> {
  return {
    cel: `!has(self.${lower}) || !has(self.${upper}) || quantity(self.${upper}).compareTo(quantity(self.${lower})) >= 0`,
    message: `${upper} must not be less than ${lower}`,
    code: 'BAD_REQUEST',
    field: upper,
    test: (next) => {
      const [low, high] = [next[lower], next[upper]]
      return low === undefined || high === undefined || compareQuantities(high, low) >= 0
    },
  }
}

function growsOnly(field: 'storageSize' | 'walStorageSize'): Rule<Spec> {
  return {
    cel: `!has(oldSelf.${field}) || !has(self.${field}) || quantity(self.${field}).compareTo(quantity(oldSelf.${field})) >= 0`,
    message: `${field} may grow but not shrink: volumes cannot give space back`,
    code: 'STORAGE_CANNOT_SHRINK',
    field,
    test: (next, previous) => {
      const [after, before] = [next[field], previous[field]]
      return after === undefined || before === undefined || compareQuantities(after, before) >= 0
    },
  }
}

const list = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`
const RESERVED_DATABASES = ['postgres', 'template0', 'template1']
const RESERVED_OWNERS = ['postgres', 'streaming_replica']
const PARAMETER_NAME = '^[a-z_][a-z0-9_.]{0,62}$'

const rules: Rule<Spec>[] = [
  tagKeyRule,
  noGreater('cpuRequest', 'cpuLimit'),
  noGreater('memoryRequest', 'memoryLimit'),
  growsOnly('storageSize'),
  growsOnly('walStorageSize'),
  {
    cel: '!has(oldSelf.walStorageSize) || has(self.walStorageSize)',
    message: 'walStorageSize stays once it is set: the log cannot move back to the data volume',
    code: 'BAD_REQUEST',
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
    cel: `!(self.databaseName in ${list(RESERVED_DATABASES)})`,
    message: `databaseName must not be one of the engine's own: ${RESERVED_DATABASES.join(', ')}`,
    code: 'BAD_REQUEST',
    field: 'databaseName',
    test: (next) => !RESERVED_DATABASES.includes(next.databaseName),
  },
  {
    cel: `!(self.ownerName in ${list(RESERVED_OWNERS)}) && !self.ownerName.startsWith('pg_')`,
    message: `ownerName must not be one of the engine's own: ${RESERVED_OWNERS.join(', ')} and what begins with pg_`,
    code: 'BAD_REQUEST',
    field: 'ownerName',
    test: (next) => !RESERVED_OWNERS.includes(next.ownerName) && !next.ownerName.startsWith('pg_'),
  },
  {
    cel: `self.parameters.all(k, k.matches('${PARAMETER_NAME}'))`,
    message: 'a name in parameters has 1 to 63 lower-case letters, digits, underscores and dots',
    code: 'BAD_REQUEST',
    field: 'parameters',
    test: (next) => Object.keys(next.parameters).every((name) => new RegExp(PARAMETER_NAME).test(name)),
  },
  {
    cel: `self.parameters.all(k, !(k in ${list(REFUSED_PARAMETERS)}) && ${REFUSED_PARAMETER_PREFIXES.map((prefix) => `!k.startsWith('${prefix}')`).join(' && ')})`,
    message: 'parameters must not hold what runs code or belongs to the platform, such as archive_command or ssl',
    code: 'PARAMETER_REFUSED',
    field: 'parameters',
    test: (next) => !Object.keys(next.parameters).some(isRefusedParameter),
  },
  {
    cel: 'self.synchronousReplicas == 0 || !has(self.replicas) || self.synchronousReplicas < self.replicas',
    message: 'synchronousReplicas must be less than replicas: the primary is not a replica',
    code: 'BAD_REQUEST',
    field: 'synchronousReplicas',
    test: ({ synchronousReplicas: wanted, replicas }) => wanted === 0 || replicas === undefined || wanted < replicas,
  },
  {
    cel: "!has(self.allowedCidrs) || self.allowedCidrs == '' || (self.allowedCidrs.split(',').size() <= 50 && self.allowedCidrs.split(',').all(c, isCIDR(c) && cidr(c).masked() == cidr(c)))",
    message:
      'allowedCidrs is a comma-separated list of at most 50 canonical networks, such as 203.0.113.0/24,2001:db8::/32',
    code: 'BAD_REQUEST',
    field: 'allowedCidrs',
    test: (next) => next.allowedCidrs === undefined || next.allowedCidrs === '' || isCidrList(next.allowedCidrs),
  },
  {
    cel: '!has(self.takesOver) || (has(self.restoreFrom) && !has(self.restoreFrom.resourceGroup))',
    message: 'takesOver goes with restoreFrom in the same group: only what holds the same data can take a name over',
    code: 'BAD_REQUEST',
    field: 'takesOver',
    test: (next) =>
      next.takesOver === undefined || (next.restoreFrom !== undefined && next.restoreFrom.resourceGroup === undefined),
  },
]

/** Where a restored database comes from, as it was found when it was made: the snapshot may go afterwards. */
const origin = z.object({
  clusterName: z.string(),
  snapshotId: z.string().optional(),
  targetTime: z.string().optional(),
  destinationPath: z.string(),
  serverName: z.string(),
  backupId: z.string().optional(),
  databaseName: z.string(),
  ownerName: z.string(),
})

const range = z.object({ from: z.string(), to: z.string().optional() })

/** A relational database: PostgreSQL instances kept by CloudNativePG, with addresses, archive and snapshots. */
export const RelationalCluster = defineKind({
  group: 'data',
  kind: 'RelationalCluster',
  plural: 'relationalclusters',
  shortNames: ['relc'],
  placement: 'group',
  area: 'relational',
  actions: 'relationalcluster',
  forms: { 'relationalcluster/restoreSnapshot': ['restoresnapshot'] },
  // Whoever restores reads all that the snapshot holds.
  grantedFields: { restoreFrom: 'restoresnapshot' },
  description: 'A relational database of one or more instances.',
  spec,
  status: resourceStatus.extend({
    replicas: z.int().default(0),
    readyReplicas: z.int().default(0),
    selector: z.string().optional(),
    currentPrimary: z.string().optional(),
    publicEndpoint: z.string().optional(),
    externalAddresses: z.array(z.string()).optional(),
    restartedAt: z.string().optional(),
    engineVersion: z.string().optional(),
    archiving: z.enum(ARCHIVING_STATES).optional(),
    archivingMessage: z.string().optional(),
    /** Since when the archive stands still, for the end of the window. */
    archivingStoppedAt: z.string().optional(),
    /** Times of which nothing can be restored, because the archive was suspended. */
    archivingGaps: z.array(range).optional(),
    backupEnabled: z.boolean().optional(),
    backupMessage: z.string().optional(),
    lastBackupAt: z.string().optional(),
    firstRecoverableAt: z.string().optional(),
    serverName: z.string().optional(),
    destinationPath: z.string().optional(),
    origin: origin.optional(),
    tookOverAt: z.string().optional(),
    /** The uid of the engine's Cluster at whose tables the logins of the editor were let. */
    editorAdmittedFor: z.string().optional(),
    finalSnapshotId: z.string().optional(),
  }),
  scale: { replicas: '.spec.replicas', ready: '.status.replicas', selector: '.status.selector' },
  immutable: ['clusterId', 'storageClass', 'imageName', 'databaseName', 'ownerName', 'restoreFrom', 'takesOver'],
  rules,
  columns: [
    ...statusColumns,
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'Replicas', path: '.spec.replicas', type: 'integer' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Version', path: '.spec.engineVersion' },
    { name: 'Primary', path: '.status.currentPrimary' },
    { name: 'Archiving', path: '.status.archiving' },
    { name: 'Last Backup', path: '.status.lastBackupAt', type: 'date', priority: 1 },
    { name: 'Phase', path: '.status.phase', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
  selectable: ['spec.computePlan', 'status.phase'],
})
export type RelationalCluster = ObjectOf<typeof RelationalCluster>

/** A backup of a relational database. It outlives the database where that was deleted with `onDelete: Retain`. */
export const RelationalSnapshot = defineKind({
  group: 'data',
  kind: 'RelationalSnapshot',
  plural: 'relationalsnapshots',
  shortNames: ['rsnap'],
  placement: 'group',
  area: 'relational',
  name: 'uuid',
  forms: {
    'relationalcluster/read': ['get', 'list', 'watch'],
    'relationalcluster/createSnapshot': ['create', 'update', 'patch'],
    'relationalcluster/deleteSnapshot': ['delete', 'deletecollection'],
  },
  description: 'A snapshot of a relational database, from which a new one can be made.',
  spec: z.strictObject({
    clusterName: ResourceName.describe('The database; same group'),
    name: ResourceName.describe('For people; unique among the snapshots of the database'),
    description: Description.optional(),
    method: z.enum(SNAPSHOT_METHODS).default('Object'),
    kind: z.enum(SNAPSHOT_KINDS).default('Manual'),
    retentionDays: z.int().min(1).max(3650).optional().describe('Until it is deleted, when absent'),
  }),
  status: resourceStatus.extend({
    backupName: z.string().optional(),
    backupId: z.string().optional(),
    serverName: z.string().optional(),
    destinationPath: z.string().optional(),
    engineVersion: z.string().optional(),
    databaseName: z.string().optional(),
    ownerName: z.string().optional(),
    storageSize: z.string().optional(),
    startedAt: z.string().optional(),
    completedAt: z.string().optional(),
    expiresAt: z.string().optional(),
  }),
  immutable: ['clusterName', 'name', 'method', 'kind'],
  columns: [
    ...statusColumns,
    { name: 'Database', path: '.spec.clusterName' },
    { name: 'Name', path: '.spec.name' },
    { name: 'Kind', path: '.spec.kind' },
    { name: 'Completed', path: '.status.completedAt', type: 'date' },
    { name: 'Expires', path: '.status.expiresAt', type: 'date', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
  selectable: ['spec.clusterName', 'status.phase'],
})
export type RelationalSnapshot = ObjectOf<typeof RelationalSnapshot>
