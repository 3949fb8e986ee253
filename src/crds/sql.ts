import { z } from 'zod'
import { MSSQL_MEMORY, SQL_ENGINES, type SqlEngineName } from '../contracts/sql.ts'
import { compareQuantities } from '../core/quantity.ts'
import { defineKind, type ObjectOf, type Rule, resourceColumns, statusWith } from './define.ts'
import { integerBetween, matching, Off, ResourceName, Tags } from './fields.ts'
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
  LastVolumeBackup,
  OnDelete,
  planOverrides,
  ReadyReplicas,
  RestartedAt,
  Running,
} from './workloadFields.ts'
import { allowedCidrsRule, celList, growOnlyRule, incrementByOneRule, requestLimitRules } from './workloadRules.ts'

/** Versions that can be chosen, oldest first; the last one is the default. */
export const SQL_VERSIONS = { MsSql: ['2019', '2022'], MariaDb: ['10.11', '11.4', '11.8'] } as const
export const SQL_EDITIONS = {
  MsSql: ['Express', 'Developer', 'Evaluation', 'Standard', 'Enterprise'],
  MariaDb: ['Community'],
} as const
/** Editions that run only with a product key. */
export const PAID_EDITIONS: readonly string[] = ['Standard', 'Enterprise']
export const LICENSE_STATES = ['NotRequired', 'Missing', 'Applying', 'Active', 'Rejected'] as const

const VERSIONS = [...SQL_VERSIONS.MsSql, ...SQL_VERSIONS.MariaDb] as const
export const EDITIONS = [...SQL_EDITIONS.MsSql, ...SQL_EDITIONS.MariaDb] as const

export function newestSqlVersion(engine: SqlEngineName): string {
  return SQL_VERSIONS[engine].at(-1) ?? ''
}
export function defaultEdition(engine: SqlEngineName): string {
  return SQL_EDITIONS[engine][0]
}

const spec = z.strictObject({
  clusterId: ClusterId,
  computePlan: ResourceName.optional().describe('Name of a ComputePlan of family Sql; the default one when absent'),
  ...planOverrides,
  engine: z
    .enum(SQL_ENGINES)
    .default('MsSql')
    .describe('MsSql is Microsoft SQL Server, which needs acceptEula; MariaDb is MariaDB; immutable'),
  engineVersion: z.enum(VERSIONS).optional().describe('Version of the engine; the newest when absent; only goes up'),
  edition: z
    .enum(EDITIONS)
    .optional()
    .describe(
      'Edition of the engine: Express when absent, Community for MariaDb; Standard and Enterprise need a product key',
    ),
  acceptEula: Off.describe("True accepts Microsoft's licence terms, without which MsSql may not run"),
  collation: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z0-9_]+$/, 'must be letters, digits and underscores')
    .default('SQL_Latin1_General_CP1_CI_AS')
    .describe('How SQL Server compares and sorts text; without effect for MariaDb; immutable'),
  timeZone: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z0-9_+/-]+$/, 'must be the name of a time zone, such as Europe/Berlin')
    .default('UTC')
    .describe('Time zone of the engine, such as Europe/Berlin; immutable'),
  databaseName: matching(
    64,
    /^[A-Za-z][A-Za-z0-9_]{0,63}$/,
    'must be 1 to 64 letters, digits and underscores that begin with a letter',
  )
    .default('app')
    .describe('The database to create, which connection strings name; immutable'),
  memoryLimitMb: integerBetween(256, 16777216)
    .optional()
    .describe('Maximum memory of the engine, in MiB; 80 % of memoryLimit when absent'),
  enableLoadBalancer: EnableLoadBalancer,
  allowedCidrs: AllowedCidrs,
  backupEnabled: z
    .boolean()
    .optional()
    .describe('Whether Velero takes snapshots of the volume; when absent, if the platform has a target for them'),
  backupSchedule: CronSchedule.default('0 2 * * *').describe('When a backup begins, as cron in five fields, UTC'),
  backupRetentionDays: BackupRetentionDays.describe('Days after which a backup expires'),
  deletionProtection: DeletionProtection,
  licenseVersion: integerBetween(0, 1000000)
    .default(0)
    .describe('Number of the product key, raised by each key set through REST; needs the verb managelicense'),
  running: Running,
  restartedAt: RestartedAt,
  onDelete: OnDelete.describe('Delete removes the volume with it; Retain keeps it for a SqlInstance of the same name'),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

function belongsToEngine(field: 'engineVersion' | 'edition', of: Record<SqlEngineName, readonly string[]>): Rule<Spec> {
  return {
    cel: `!has(self.${field}) || (self.engine == 'MsSql' ? self.${field} in ${celList(of.MsSql)} : self.${field} in ${celList(of.MariaDb)})`,
    message: `${field} must be one of the engine's: ${of.MsSql.join(', ')} for MsSql, ${of.MariaDb.join(', ')} for MariaDb`,
    field,
    test: ({ engine, [field]: value }) => value === undefined || of[engine].includes(value),
  }
}

/** System databases: whoever may write to one of these administers the engine. Names are case-insensitive. */
const SYSTEM_DATABASES: Readonly<Record<SqlEngineName, readonly string[]>> = {
  MsSql: ['master', 'model', 'msdb', 'tempdb'],
  MariaDb: ['information_schema', 'mysql', 'performance_schema', 'sys'],
}

function mssqlMemoryRule(field: 'memoryRequest' | 'memoryLimit'): Rule<Spec> {
  return {
    cel: `self.engine != 'MsSql' || !has(self.${field}) || quantity(self.${field}).compareTo(quantity('${MSSQL_MEMORY}')) >= 0`,
    message: `${field} must be at least ${MSSQL_MEMORY} for MsSql, which needs that to start`,
    field,
    test: ({ engine, [field]: memory }) =>
      engine !== 'MsSql' || memory === undefined || compareQuantities(memory, MSSQL_MEMORY) >= 0,
  }
}

const rules: Rule<Spec>[] = [
  tagKeyRule,
  ...requestLimitRules,
  belongsToEngine('engineVersion', SQL_VERSIONS),
  belongsToEngine('edition', SQL_EDITIONS),
  {
    cel: "self.engine != 'MsSql' || self.acceptEula",
    message: "acceptEula must be true: SQL Server runs only for those who accept Microsoft's licence terms",
    code: 'EULA_NOT_ACCEPTED',
    field: 'acceptEula',
    test: ({ engine, acceptEula }) => engine !== 'MsSql' || acceptEula,
  },
  {
    cel: `!(self.databaseName.lowerAscii() in (self.engine == 'MsSql' ? ${celList(SYSTEM_DATABASES.MsSql)} : ${celList(SYSTEM_DATABASES.MariaDb)}))`,
    message: `databaseName must not be one of the engine's own: ${SYSTEM_DATABASES.MsSql.join(', ')} for MsSql, ${SYSTEM_DATABASES.MariaDb.join(', ')} for MariaDb`,
    field: 'databaseName',
    test: ({ engine, databaseName }) => !SYSTEM_DATABASES[engine].includes(databaseName.toLowerCase()),
  },
  mssqlMemoryRule('memoryRequest'),
  mssqlMemoryRule('memoryLimit'),
  {
    cel: "!has(self.memoryLimitMb) || !has(self.memoryLimit) || quantity(self.memoryLimit).sub(self.memoryLimitMb * 1048576).compareTo(quantity('0')) >= 0",
    message: 'memoryLimitMb must not be more than memoryLimit: the container would be killed',
    field: 'memoryLimitMb',
    test: ({ memoryLimitMb, memoryLimit }) =>
      memoryLimitMb === undefined ||
      memoryLimit === undefined ||
      compareQuantities(`${memoryLimitMb}Mi`, memoryLimit) <= 0,
  },
  growOnlyRule('storageSize'),
  {
    // Without a version, the newest one runs.
    cel: `has(oldSelf.engineVersion) ? has(self.engineVersion) && double(self.engineVersion) >= double(oldSelf.engineVersion) : !has(self.engineVersion) || self.engineVersion == (self.engine == 'MsSql' ? '${newestSqlVersion('MsSql')}' : '${newestSqlVersion('MariaDb')}')`,
    message: 'engineVersion cannot go back: an older engine does not read the newer files',
    code: 'DOWNGRADE_REFUSED',
    field: 'engineVersion',
    test: (next, previous) =>
      previous.engineVersion === undefined
        ? [undefined, newestSqlVersion(next.engine)].includes(next.engineVersion)
        : next.engineVersion !== undefined && Number(next.engineVersion) >= Number(previous.engineVersion),
  },
  incrementByOneRule('licenseVersion', 'is one product key'),
  {
    cel: `self.licenseVersion == oldSelf.licenseVersion || (self.engine == 'MsSql' && has(self.edition) && self.edition in ${celList(PAID_EDITIONS)})`,
    message: `licenseVersion changes only with edition ${PAID_EDITIONS.join(' or ')} of MsSql: no other edition takes a product key`,
    code: 'LICENSE_NOT_APPLICABLE',
    field: 'licenseVersion',
    test: ({ licenseVersion, engine, edition }, previous) =>
      licenseVersion === previous.licenseVersion ||
      (engine === 'MsSql' && edition !== undefined && PAID_EDITIONS.includes(edition)),
  },
  allowedCidrsRule,
]

/** One SQL engine on one volume, with logins and addresses. */
export const SqlInstance = defineKind({
  group: 'data',
  kind: 'SqlInstance',
  sized: 'Sql',
  runsAnywhere: true,
  segment: 'sqlclusters',
  shortNames: ['sqli'],
  placement: 'group',
  area: 'sql',
  actions: 'sqlcluster',
  forms: { 'sqlcluster/manageLicense': ['managelicense'] },
  restOnly: ['sqlcluster/dataRead', 'sqlcluster/dataWrite', 'sqlcluster/schemaRead'],
  protectedFields: { licenseVersion: 'managelicense' },
  description: 'A SQL database instance: Microsoft SQL Server or MariaDB.',
  spec,
  status: statusWith({
    computePlan: AcceptedPlan,
    readyReplicas: ReadyReplicas,
    publicEndpoint: z.string().describe('Address and port of the load balancer; absent without one'),
    externalAddresses: ExternalAddresses,
    restartedAt: LastRestartedAt,
    backupEnabled: z.boolean().describe('Whether it is backed up: this is wanted, and the platform has a target'),
    lastBackup: LastVolumeBackup,
    preparedFor: z
      .string()
      .describe('Hash of the state that logins and database were last prepared for: once per change and start'),
    licenseStatus: z
      .enum(LICENSE_STATES)
      .describe(
        'Product key: NotRequired by the edition, Missing, Applying while the engine starts with it, Active or Rejected',
      ),
    licenseEdition: z.string().describe('Edition that the engine reports'),
    productVersion: z.string().describe('Version that the engine reports'),
    licenseVersion: z.int().describe('Number of the active product key'),
    rejectedLicenseVersion: z.int().describe('Number of the newest product key that the engine did not accept'),
  }),
  immutable: ['clusterId', 'storageClass', 'engine', 'collation', 'timeZone', 'databaseName'],
  rules,
  columns: resourceColumns(
    { name: 'Engine', path: '.spec.engine' },
    { name: 'Version', path: '.status.productVersion' },
    { name: 'Edition', path: '.spec.edition' },
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'License', path: '.status.licenseStatus', priority: 1 },
  ),
  selectable: ['spec.engine', 'status.phase'],
})
export type SqlInstance = ObjectOf<typeof SqlInstance>
