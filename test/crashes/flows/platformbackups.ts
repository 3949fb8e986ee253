import { SKIP_ARCHIVING_ANNOTATION } from '../../../src/contracts/platformbackups/archives.ts'
import {
  PLATFORM_SCHEDULE,
  SCHEDULE_LABEL,
  SETTINGS_NAME,
  TARGET_SECRETS,
  type TargetSecret,
  VELERO_SECRET,
} from '../../../src/contracts/platformbackups/names.ts'
import { relationalNames } from '../../../src/contracts/relational.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import { PlatformBackupSettings } from '../../../src/crds/platformBackups.ts'
import { RelationalCluster } from '../../../src/crds/relational.ts'
import { postgresqlBackup, postgresqlCluster } from '../../../src/kube/postgresql.ts'
import { veleroBackup, veleroBackupStorageLocation, veleroSchedule } from '../../../src/kube/velero.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME, seedVelero } from '../seeds.ts'
import type { World } from '../world.ts'

const velero: Step = { user: 'an administrator installs Velero', act: async (world) => seedVelero(world.server) }

const isReady = (world: World) => world.isReady(PlatformBackupSettings, SETTINGS_NAME, SYSTEM_NAMESPACE)
const make: Step = {
  user: 'makes the settings',
  act: (world) => world.make(PlatformBackupSettings, SETTINGS_NAME, {}, SYSTEM_NAMESPACE),
}
const change = (user: string, spec: object, until: Step['until'] = isReady): Step => ({
  user,
  act: (world) => world.change(PlatformBackupSettings, SETTINGS_NAME, spec, SYSTEM_NAMESPACE),
  until,
})
const key = (name: TargetSecret, secret: string): Step => ({
  user: `puts a key into ${name}`,
  act: (world) => world.makeSecret(name, { 'access-key-id': 'id', 'secret-access-key': secret }, SYSTEM_NAMESPACE),
})
const target = (secretName: TargetSecret) => ({
  target: {
    ...{ provider: 'aws', bucket: 'backups', region: 'us-east-1', forcePathStyle: true },
    ...{ endpoint: 'https://store.test', secretName },
  },
})

/** What Velero is told, and whether the key beside it is the one that is meant. */
async function facts(world: World): Promise<object> {
  const specs = async (resource: typeof veleroSchedule) =>
    (await world.server.list(resource)).items.map(({ spec }) => spec)
  return {
    schedules: await specs(veleroSchedule),
    locations: await specs(veleroBackupStorageLocation),
    databases: await specs(postgresqlBackup),
    key: await world.secret(VELERO_SECRET, 'velero'),
  }
}

const CLUSTER = relationalNames('orders').cluster
const FOREIGN = { namespace: SYSTEM_NAMESPACE, name: 'foreign' }
const OURS = { namespace: HOME, name: CLUSTER }
const suspended = (...places: object[]) => ({
  suspendedArchives: places.map((place) => ({ ...place, suspendedAt: '2026-01-01T00:00:00Z', suspendedBy: 'me' })),
})

/** A database that the platform did not make, and that archives its log. */
const foreign: Step = {
  user: 'an administrator has a database',
  act: async ({ server }) => {
    server.seed(postgresqlCluster, {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      metadata: FOREIGN,
      spec: { instances: 1, plugins: [{ name: 'barman-cloud.cloudnative-pg.io', isWALArchiver: true }] },
    })
  },
}
const database: Step = {
  user: 'a tenant has one',
  act: (world) => world.make(RelationalCluster, 'orders', { computePlan: 'relational-small' }),
  until: (world) => world.isReady(RelationalCluster, 'orders'),
}
/** As the engine says after it was told. */
const says = (status: 'True' | 'False'): Step => ({
  user: `the engines say that archiving is ${status}`,
  async act({ server }) {
    for (const ref of [FOREIGN, OURS]) {
      const conditions = [
        { type: 'ContinuousArchiving', status, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ]
      server.edit(postgresqlCluster, ref, (object) => {
        object.status = { ...(object.status as object), conditions }
      })
    }
  },
})
const skips = async (world: World, place: { namespace: string; name: string }) => {
  const found = await world.find<KubeObject>(postgresqlCluster, place.name, place.namespace)
  return found?.metadata.annotations?.[SKIP_ARCHIVING_ANNOTATION] === 'enabled'
}

export const platformBackupFlows: readonly Flow[] = [
  {
    title: 'the platform is backed up to its own target, gets another key, and stops being backed up',
    controllers: ['platformbackupsettings'],
    facts,
    given: [velero],
    steps: [
      key(TARGET_SECRETS[0], 'secret'),
      { ...make, until: isReady },
      change('asks for another hour', { schedule: { cron: '30 2 * * 7', ttlHours: 48 } }),
      change('names a target', target(TARGET_SECRETS[0])),
      {
        ...key(TARGET_SECRETS[1], 'newer'),
        async act(world) {
          world.engines.backupTargets.key.secretAccessKey = 'newer'
          await key(TARGET_SECRETS[1], 'newer').act(world)
        },
      },
      change('names the other key', target(TARGET_SECRETS[1])),
      {
        user: 'deletes the settings',
        act: (world) => world.remove(PlatformBackupSettings, SETTINGS_NAME, SYSTEM_NAMESPACE),
        until: (world) => world.isGone(PlatformBackupSettings, SETTINGS_NAME, SYSTEM_NAMESPACE),
      },
    ],
  },
  {
    title: 'a requested backup includes the databases of the platform',
    controllers: ['platformbackupsettings'],
    facts,
    given: [velero, foreign, { ...make, until: isReady }],
    steps: [
      {
        user: 'asks for a backup',
        async act(world) {
          world.server.seed(veleroBackup, {
            apiVersion: 'velero.io/v1',
            kind: 'Backup',
            metadata: {
              ...{ name: 'asked', namespace: 'velero', labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE } },
              annotations: { 'freehold.dev/backup-trigger': 'Manual' },
            },
            status: { phase: 'InProgress' },
          })
        },
        until: async ({ server }) => (await server.list(postgresqlBackup)).items.length === 1,
      },
    ],
  },
  {
    title: 'archives of a tenant and of an administrator are suspended, and resume with a base backup',
    controllers: ['platformbackupsettings', 'relationalcluster'],
    facts: async (world) => ({
      ...(await facts(world)),
      skips: [await skips(world, FOREIGN), await skips(world, OURS)],
    }),
    given: [velero, foreign, database, { ...make, until: isReady }],
    steps: [
      change(
        'suspends both',
        suspended(OURS, FOREIGN),
        async (world) => (await skips(world, OURS)) && (await skips(world, FOREIGN)),
      ),
      change(
        'resumes both',
        suspended(),
        async (world) => !(await skips(world, OURS)) && !(await skips(world, FOREIGN)),
      ),
      { ...says('True'), until: async ({ server }) => (await server.list(postgresqlBackup)).items.length === 2 },
    ],
  },
]
