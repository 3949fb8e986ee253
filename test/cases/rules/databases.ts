import { RelationalCluster } from '../../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../../src/crds/relationalSnapshots.ts'
import { SqlInstance } from '../../../src/crds/sql.ts'
import { VectorCluster } from '../../../src/crds/vector.ts'
import { CIDRS, cases, fixed, ID, OTHER, type RuleCase, SHRINK, TAGS } from './case.ts'

const BACK = 'vectorVersion cannot go back: an older engine does not read the newer storage format'

const STEP = 'vectorVersion must go up one minor version at a time, because the storage format is migrated step by step'

const KEYS = 'apiKeyVersion grows by one at a time: each step makes one new key'

const OWN_USER = "ownerName must not be one of the engine's own: postgres, streaming_replica and what begins with pg_"

const CODE = 'parameters must not contain what runs code or belongs to the platform, such as archive_command or ssl'

const TAKE_OVER =
  'takesOver must name the database of restoreFrom, in the same group: only a database with the same data can take over a name'

const EULA = "acceptEula must be true: SQL Server runs only for those who accept Microsoft's licence terms"

const EDITION =
  "edition must be one of the engine's: Express, Developer, Evaluation, Standard, Enterprise for MsSql, Community for MariaDb"

const ENGINE_VERSION = "engineVersion must be one of the engine's: 2019, 2022 for MsSql, 10.11, 11.4, 11.8 for MariaDb"

const REQUEST = 'memoryRequest must be at least 2Gi for MsSql, which needs that to start'
const MEMORY = 'memoryLimit must be at least 2Gi for MsSql, which needs that to start'

const ENGINE_MEMORY = 'memoryLimitMb must not be more than memoryLimit: the container would be killed'

const OLDER = 'engineVersion cannot go back: an older engine does not read the newer files'

const LICENSE = 'licenseVersion grows by one at a time: each step is one product key'

const FREE =
  'licenseVersion changes only with edition Standard or Enterprise of MsSql: no other edition takes a product key'
const UPGRADE = 'engineVersion can go up to 16 or later only: the engine does not upgrade to earlier versions'
const OWN_DATABASE =
  "databaseName must not be one of the engine's own: master, model, msdb, tempdb for MsSql, information_schema, mysql, performance_schema, sys for MariaDb"
const DEVELOPER = { engine: 'MsSql', acceptEula: true, edition: 'Developer' }
const PAID = { ...DEVELOPER, edition: 'Standard' }

const RESTORE = { clusterName: 'orders', snapshotId: '0ad1b2c3-4d5e-4f60-8a7b-9c0d1e2f3a4b' }

export const DATABASE_RULES: readonly RuleCase[] = [
  ...cases(SqlInstance, { engine: 'MariaDb' }, [
    ['a plain MariaDB', undefined, {}],
    ['a SQL Server with acceptEula', undefined, { engine: 'MsSql', acceptEula: true }],
    ['a SQL Server without acceptEula', undefined, { engine: 'MsSql' }, EULA],
    ['an edition of the other engine', undefined, { edition: 'Express' }, EDITION],
    ['a version of the other engine', undefined, { engineVersion: '2022' }, ENGINE_VERSION],
    ['too little memory for SQL Server', undefined, { engine: 'MsSql', acceptEula: true, memoryLimit: '1Gi' }, MEMORY],
    [
      'a memory request below 2Gi for SQL Server',
      undefined,
      { engine: 'MsSql', acceptEula: true, memoryRequest: '1Gi' },
      REQUEST,
    ],
    ['a memory request of 2Gi for SQL Server', undefined, { engine: 'MsSql', acceptEula: true, memoryRequest: '2Gi' }],
    ['a memory request of 1Gi for MariaDB', undefined, { engine: 'MariaDb', memoryRequest: '1Gi' }],
    ['a memory limit of 1Gi for MariaDB', undefined, { memoryLimit: '1Gi' }],
    ['memoryLimitMb equal to memoryLimit', undefined, { memoryLimit: '1Gi', memoryLimitMb: 1024 }],
    ['memoryLimitMb above memoryLimit', undefined, { memoryLimit: '1Gi', memoryLimitMb: 1025 }, ENGINE_MEMORY],
    [
      'a cpuRequest above cpuLimit',
      undefined,
      { cpuRequest: '2', cpuLimit: '1' },
      'cpuLimit must not be less than cpuRequest',
    ],
    [
      'a memoryRequest above memoryLimit',
      undefined,
      { memoryRequest: '2Gi', memoryLimit: '1Gi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': 'y' } }, TAGS],
    ['invalid networks', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['more storage', { storageSize: '10Gi' }, { storageSize: '20Gi' }],
    ['less storage', { storageSize: '20Gi' }, { storageSize: '10Gi' }, SHRINK],
    ['a newer version', { engineVersion: '10.11' }, { engineVersion: '11.4' }],
    ['an older version', { engineVersion: '11.4' }, { engineVersion: '10.11' }, OLDER],
    ['the newest version after none', {}, { engineVersion: '11.8' }],
    ['an older version after none', {}, { engineVersion: '10.11' }, OLDER],
    ['a removed version', { engineVersion: '11.4' }, {}, OLDER],
    ['the next product key', { ...PAID, licenseVersion: 1 }, { ...PAID, licenseVersion: 2 }],
    ['two product keys at once', { ...PAID, licenseVersion: 1 }, { ...PAID, licenseVersion: 3 }, LICENSE],
    ['a product key of an engine without one', { licenseVersion: 1 }, { licenseVersion: 2 }, FREE],
    ['a product key of the free edition', { ...DEVELOPER }, { ...DEVELOPER, licenseVersion: 1 }, FREE],
    ['backups', undefined, { backupEnabled: true }],
    ['another engine', {}, { engine: 'MsSql', acceptEula: true }, fixed('engine')],
    ['another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
    ['another storage class', { storageClass: 'fast' }, {}, fixed('storageClass')],
    ['another collation', {}, { collation: 'Latin1_General_BIN' }, fixed('collation')],
    ['another time zone', {}, { timeZone: 'Europe/Berlin' }, fixed('timeZone')],
    ['another database', {}, { databaseName: 'shop' }, fixed('databaseName')],
    ...['mysql', 'MySQL', 'sys', 'information_schema', 'performance_schema'].map(
      (databaseName): [string, undefined, object, string] => [
        `the system database ${databaseName} of MariaDB`,
        undefined,
        { databaseName },
        OWN_DATABASE,
      ],
    ),
    ...['master', 'Master', 'model', 'msdb', 'tempdb'].map((databaseName): [string, undefined, object, string] => [
      `the system database ${databaseName} of SQL Server`,
      undefined,
      { ...DEVELOPER, databaseName },
      OWN_DATABASE,
    ]),
    ['a system database of SQL Server for MariaDB', undefined, { databaseName: 'master' }],
    ['a system database of MariaDB for SQL Server', undefined, { ...DEVELOPER, databaseName: 'mysql' }],
  ]),
  ...cases(VectorCluster, {}, [
    ['an empty spec', undefined, {}],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    [
      'a CPU limit below the request',
      undefined,
      { cpuRequest: '2', cpuLimit: '1500m' },
      'cpuLimit must not be less than cpuRequest',
    ],
    ['equal cpuRequest and cpuLimit in different notations', undefined, { cpuRequest: '2', cpuLimit: '2000m' }],
    [
      'a memory limit below the request',
      undefined,
      { memoryRequest: '1Gi', memoryLimit: '1000Mi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['more storage', { storageSize: '10Gi' }, { storageSize: '11Gi' }],
    ['less storage', { storageSize: '10Gi' }, { storageSize: '10G' }, SHRINK],
    ['the next minor version', { vectorVersion: '1.14.1' }, { vectorVersion: '1.15.5' }],
    ['a skipped minor version', { vectorVersion: '1.14.1' }, { vectorVersion: '1.16.3' }, STEP],
    ['an earlier version', { vectorVersion: '1.15.5' }, { vectorVersion: '1.14.1' }, BACK],
    ['the next key', { apiKeyVersion: 1 }, { apiKeyVersion: 2 }],
    ['a skipped key', { apiKeyVersion: 1 }, { apiKeyVersion: 3 }, KEYS],
    ['an earlier key', { apiKeyVersion: 2 }, { apiKeyVersion: 1 }, KEYS],
    [
      'canonical networks of both families',
      undefined,
      { allowedCidrs: '203.0.113.0/24,2001:db8::/32,0.0.0.0/0,::/0,192.0.2.7/32' },
    ],
    ['an empty list of networks', undefined, { allowedCidrs: '' }],
    ['a network with host bits', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['a network in capitals', undefined, { allowedCidrs: '2001:DB8::/32' }, CIDRS],
    ['a network with zeros written out', undefined, { allowedCidrs: '2001:db8:0::/32' }, CIDRS],
    ['an IPv4 network in IPv6', undefined, { allowedCidrs: '::ffff:10.0.0.0/104' }, CIDRS],
    ['a single group of zeros', undefined, { allowedCidrs: '2001:db8:0:1:1:1:1:0/112' }],
    ['an address without a prefix', undefined, { allowedCidrs: '10.0.0.1' }, CIDRS],
    ['a space in the list', undefined, { allowedCidrs: '10.0.0.0/8, 192.0.2.0/24' }, CIDRS],
    [
      '51 networks',
      undefined,
      { allowedCidrs: Array.from({ length: 51 }, (_, i) => `10.${i}.0.0/16`).join(',') },
      CIDRS,
    ],
    ['another storage class', { storageClass: 'fast' }, { storageClass: 'slow' }, fixed('storageClass')],
    ['another image', { imageName: 'a/b:1' }, { imageName: 'a/b:2' }, fixed('imageName')],
    ['another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(RelationalCluster, {}, [
    ['an empty spec', undefined, {}],
    [
      'larger and newer values',
      { storageSize: '5Gi', engineVersion: '15' },
      { storageSize: '10Gi', engineVersion: '17' },
    ],
    ['parameters of the engine', undefined, { parameters: { work_mem: '16MB', 'pg_stat_statements.max': '500' } }],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    [
      'a CPU limit below the request',
      undefined,
      { cpuRequest: '2', cpuLimit: '1500m' },
      'cpuLimit must not be less than cpuRequest',
    ],
    [
      'a memory limit below the request',
      undefined,
      { memoryRequest: '2Gi', memoryLimit: '1Gi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['less storage', { storageSize: '10Gi' }, { storageSize: '5Gi' }, SHRINK],
    [
      'a smaller walStorageSize',
      { walStorageSize: '2Gi' },
      { walStorageSize: '1Gi' },
      SHRINK.replace('storageSize', 'walStorageSize'),
    ],
    [
      'a removed walStorageSize',
      { walStorageSize: '2Gi' },
      {},
      'walStorageSize cannot be removed once it is set: the log cannot move back to the data volume',
    ],
    ['a version that the engine upgrades to', { engineVersion: '14' }, { engineVersion: '16' }],
    ['a version that the engine does not upgrade to', { engineVersion: '14' }, { engineVersion: '15' }, UPGRADE],
    ['an unchanged old version', { engineVersion: '15' }, { engineVersion: '15', replicas: 2 }],
    [
      'an older engine',
      { engineVersion: '17' },
      { engineVersion: '16' },
      'engineVersion cannot go back: an older engine does not read the newer files',
    ],
    [
      "the engine's own database",
      undefined,
      { databaseName: 'postgres' },
      "databaseName must not be one of the engine's own: postgres, template0, template1",
    ],
    ["the engine's own user", undefined, { ownerName: 'pg_monitor' }, OWN_USER],
    ['the replication user', undefined, { ownerName: 'streaming_replica' }, OWN_USER],
    [
      'a parameter name with a space',
      undefined,
      { parameters: { 'work mem': '1' } },
      'a name in parameters must have 1 to 63 lower-case letters, digits, underscores and dots',
    ],
    ['a parameter that runs a command', undefined, { parameters: { archive_command: 'sh' } }, CODE],
    ['a parameter that includes a file', undefined, { parameters: { include: '/etc/passwd' } }, CODE],
    ['a parameter that includes a folder', undefined, { parameters: { include_dir: '/etc' } }, CODE],
    ['a parameter that includes a file if there is one', undefined, { parameters: { include_if_exists: 'x' } }, CODE],
    ['a parameter that loads code', undefined, { parameters: { shared_preload_libraries: 'x' } }, CODE],
    ['a parameter that the platform sets', undefined, { parameters: { ssl_ca_file: '/x' } }, CODE],
    [
      'synchronousReplicas equal to replicas',
      undefined,
      { replicas: 2, synchronousReplicas: 2 },
      'synchronousReplicas must be less than replicas: the primary is not a replica',
    ],
    ['invalid networks', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['takesOver without restoreFrom', undefined, { takesOver: 'orders' }, TAKE_OVER],
    [
      'takesOver with restoreFrom of another group',
      undefined,
      { takesOver: 'orders', restoreFrom: { ...RESTORE, resourceGroup: 'shop' } },
      TAKE_OVER,
    ],
    ['takesOver with restoreFrom of the same name', undefined, { takesOver: 'orders', restoreFrom: RESTORE }],
    ['takesOver with restoreFrom of another name', undefined, { takesOver: 'other', restoreFrom: RESTORE }, TAKE_OVER],
    ...['clusterId', 'storageClass', 'imageName', 'databaseName', 'ownerName'].map(
      (field): [string, object, object, string] => [
        `another ${field}`,
        { [field]: field === 'clusterId' ? ID : 'one' },
        { [field]: field === 'clusterId' ? OTHER : 'two' },
        fixed(field),
      ],
    ),
    [
      'another restoreFrom',
      { restoreFrom: RESTORE },
      { restoreFrom: { ...RESTORE, snapshotId: OTHER } },
      fixed('restoreFrom'),
    ],
    ['another takesOver', { takesOver: 'orders', restoreFrom: RESTORE }, { restoreFrom: RESTORE }, fixed('takesOver')],
  ]),
  ...cases(RelationalSnapshot, { clusterName: 'orders', name: 'before' }, [
    ['another description and retention', { retentionDays: 3 }, { retentionDays: 7, description: 'Kept longer' }],
    ['another database', {}, { clusterName: 'other' }, fixed('clusterName')],
    ['another name', {}, { name: 'after' }, fixed('name')],
    ['another method', {}, { method: 'Volume' }, fixed('method')],
    ['another kind', {}, { kind: 'Final' }, fixed('kind')],
  ]),
]
