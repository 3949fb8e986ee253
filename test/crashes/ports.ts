import { blobBuildLogs } from '../../src/adapters/buildlogs/client.ts'
import type { PodLogs } from '../../src/adapters/podlogs/port.ts'
import type { SqlEngine, SqlTarget } from '../../src/adapters/sql/port.ts'
import { readCheckedTemplate } from '../../src/api/blueprints/catalogue.ts'
import { createAuthority as createRealAuthority } from '../../src/composition/certificates.ts'
import { NO_IMAGE_USES } from '../../src/contracts/registry/retention.ts'
import { BROKERED_PROTOCOLS } from '../../src/contracts/ssoProviders.ts'
import type { ControllerPorts } from '../../src/controllers/index.ts'
import type { CertificateKeyPair } from '../../src/desired/crosslink.ts'
import { testKeys } from '../make/registry.ts'
import { TARGET } from '../make/relational.ts'
import type { Engines } from './engines.ts'
import { type Life, mortal } from './life.ts'

const BUILD_SETTINGS = {
  ...{ image: 'freehold-builder', isRegistryInsecure: false, networks: [] },
  ...{ cpuLimit: '1', memoryLimit: '1Gi', diskLimit: '1Gi', diskRequest: '128Mi' },
}

const authorities = new Map<string, Promise<CertificateKeyPair>>()

/** The same id for a name in every run, so that a run with a death can be compared with an undisturbed one. */
function createAuthority(commonName: string, now: Date): Promise<CertificateKeyPair> {
  const made = authorities.get(commonName) ?? createRealAuthority(commonName, now)
  authorities.set(commonName, made)
  return made
}

/** Databases of both clusters. */
function sqlOf(here: SqlEngine, far: SqlEngine): SqlEngine {
  const at = ({ through }: SqlTarget) => (through === undefined ? here : far)
  return {
    describe: (target, ...more) => at(target).describe(target, ...more),
    catalogue: (target) => at(target).catalogue(target),
    run: (target, ...more) => at(target).run(target, ...more),
    rows: (target, ...more) => at(target).rows(target, ...more),
    change: (target, ...more) => at(target).change(target, ...more),
    prepare: (target, ...more) => at(target).prepare(target, ...more),
    admit: (target, ...more) => at(target).admit(target, ...more),
    close: () => here.close(),
  }
}

/** The engines as seen by one process of the operator: it may die at each call that changes something. */
export function portsOf(engines: Engines, life: Life, far: Engines): ControllerPorts {
  const sql = sqlOf(engines.sql, far.sql)
  const logs: PodLogs = {
    open: ({ clusterId, ...source }, window) => (clusterId === undefined ? engines : far).podLogs.open(source, window),
  }
  const { vector, store, platformKeys, domains, sources, circuit } = engines
  const servers = mortal(sql, { prepare: ({ host }) => host }, 'sqlinstance', life)
  return {
    vectorEngine: mortal(
      vector,
      {
        moveShard: (_peer, collection, { shard }) => `${collection}/${shard}`,
        dropReplica: (_peer, collection, { shard }) => `${collection}/${shard}`,
        removePeer: (_peer, id) => String(id),
        takeSnapshot: ({ pod }, collection) => `${pod}/${collection}`,
        removeSnapshot: ({ pod }, collection) => `${pod}/${collection}`,
      },
      'vectorcluster',
      life,
    ),
    sqlEngines: {
      MsSql: servers,
      MariaDb: servers,
      PostgreSql: mortal(sql, { admit: ({ host }) => host }, 'relationalcluster', life),
    },
    allowOwnImages: false,
    backupTarget: TARGET,
    backupTargets: engines.backupTargets,
    objectStorage: {
      store: mortal(
        store,
        {
          ensureBucket: ({ name }) => name,
          removeBucket: (name) => name,
          ensureKey: ({ user }) => user,
          removeKey: (user) => user,
        },
        'objectstore',
        life,
      ),
      usageInterval: 3_600_000,
    },
    jobs: { logs, blobs: mortal(engines.blobs, { write: ({ name }) => name }, 'platformjob', life) },
    registry: {
      host: 'registry.test',
      registry: mortal(
        engines.registry,
        { remove: (repository, digest) => `${repository}@${digest}`, sweep: () => 'everything' },
        'retentionrun',
        life,
      ),
      keys: testKeys(),
      audit: mortal(engines.audit, { append: ([entry]) => entry?.action ?? '' }, 'retentionrun', life),
      uses: async () => () => NO_IMAGE_USES,
      grace: 3_600_000,
      seesPushes: true,
    },
    builds: {
      settings: BUILD_SETTINGS,
      isSimulated: true,
      addressesOf: async () => [],
      logs: engines.podLogs,
      buildLogs: blobBuildLogs(mortal(engines.blobs, { write: ({ name }) => name }, 'deploymentrecord', life)),
      sourceBlobs: engines.blobs,
      archives: undefined,
    },
    gitFiles: engines.gitFiles,
    readTemplate: readCheckedTemplate,
    crosslink: { createAuthority },
    rollouts: { inspector: engines.clusterLook, version: '1.0.0', velero: 'velero' },
    lifecycle: { feed: engines.releases, feedInterval: 3_600_000, healthSettle: 0, ownVersion: '1.0.0' },
    projectRbac: true,
    vaultKeys: platformKeys,
    sources: {
      port: sources,
      circuit: mortal(
        circuit,
        { openAccount: (name) => name, removeAccount: (name) => name },
        'deploymentsource',
        life,
      ),
    },
    sso: {
      dns: { texts: async (name) => domains.get(name) ?? [] },
      outgoing: { document: async () => '' },
      protocols: BROKERED_PROTOCOLS.local,
    },
  }
}
