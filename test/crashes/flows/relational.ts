import { engineHost, relationalNames } from '../../../src/contracts/relational.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import { DEFAULT_PLANS } from '../../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { ComputePlan } from '../../../src/crds/plans.ts'
import { RelationalCluster } from '../../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../../src/crds/relationalSnapshots.ts'
import { postgresqlBackup } from '../../../src/kube/postgresql.ts'
import { volumeSnapshot } from '../../../src/kube/velero.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME, seedSnapshots } from '../seeds.ts'
import type { World } from '../world.ts'

const SNAPSHOT = 'f0854e45-9295-490e-92af-fd60a52b56f3'

const make = (name: string, spec: object = {}): Step => ({
  user: `makes the database ${name}`,
  act: (world) => world.make(RelationalCluster, name, { computePlan: 'relational-small', ...spec }),
  until: (world) => world.isReady(RelationalCluster, name),
})
const change = (user: string, spec: object, until?: Step['until']): Step => ({
  user,
  act: (world) => world.change(RelationalCluster, 'orders', spec),
  until: until ?? ((world) => world.isReady(RelationalCluster, 'orders')),
})
const remove: Step = {
  user: 'deletes it',
  act: (world) => world.remove(RelationalCluster, 'orders'),
  until: (world) => world.isGone(RelationalCluster, 'orders'),
}
const takeSnapshot = (world: World, spec: object) =>
  world.make(RelationalSnapshot, SNAPSHOT, { clusterName: 'orders', name: 'first', ...spec })
const snapshot = (spec: object = {}): Step => ({
  user: 'takes a snapshot',
  act: (world) => takeSnapshot(world, spec),
  until: (world) => world.isReady(RelationalSnapshot, SNAPSHOT),
})

async function statusOf(world: World, kind: AnyKind = RelationalCluster, name = 'orders') {
  const found = await world.find<KubeObject & { status?: { status?: string } }>(kind.resource, name)
  return found?.status?.status
}

const common = {
  controllers: ['relationalcluster', 'relationalsnapshot'],
  facts: ({ engines }: World) => ({ admitted: engines.sql.admitted(engineHost(HOME, 'orders')) }),
}

export const relationalFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a relational database with all fields is created, and grows',
    steps: [
      make('orders', { enableLoadBalancer: true, enablePooler: true, extensions: ['citext'] }),
      change('asks for three instances', { replicas: 3 }),
    ],
  },
  {
    ...common,
    title: 'a relational database is stopped and started',
    given: [make('orders')],
    steps: [
      change('stops it', { running: false }, async (world) => (await statusOf(world)) === 'Stopped'),
      change('starts it', { running: true }),
    ],
  },
  {
    ...common,
    title: 'a relational database whose plan was deleted is stopped',
    given: [
      {
        user: 'makes a plan',
        act: (world) => world.make(ComputePlan, 'mine', { ...DEFAULT_PLANS['relational-small'], isDefault: false }),
      },
      make('orders', { computePlan: 'mine', enablePooler: true }),
      { user: 'deletes the plan', act: (world) => world.remove(ComputePlan, 'mine') },
    ],
    steps: [change('stops it', { running: false }, async (world) => (await statusOf(world)) === 'Stopped')],
  },
  {
    ...common,
    title: 'a snapshot is taken and expires, and a scheduled one is listed and deleted',
    given: [make('orders')],
    steps: [
      snapshot({ retentionDays: 1 }),
      {
        user: 'lets the schedule take one',
        act: ({ server }) =>
          server.create(postgresqlBackup, {
            apiVersion: 'postgresql.cnpg.io/v1',
            kind: 'Backup',
            metadata: {
              name: 'nightly',
              namespace: HOME,
              labels: { 'cnpg.io/scheduled-backup': relationalNames('orders').backup },
            },
            spec: { cluster: { name: relationalNames('orders').cluster } },
          }),
        until: async ({ server }) => (await server.list(RelationalSnapshot.resource)).items.length === 2,
      },
      {
        user: 'lets two weeks pass',
        act: (world) => world.pass(15 * 86_400_000),
        until: (world) => world.isGone(RelationalSnapshot, SNAPSHOT),
      },
      {
        user: 'lets the engine forget the scheduled one',
        act: (world) => world.remove({ resource: postgresqlBackup }, 'nightly'),
        until: async ({ server }) => (await server.list(RelationalSnapshot.resource)).items.length === 0,
      },
    ],
  },
  {
    ...common,
    title: 'a snapshot of volumes is taken once there is a class for it, restored from, and deleted',
    given: [make('orders', { storageClass: 'standard' })],
    steps: [
      {
        user: 'takes a snapshot of the volumes',
        act: (world) => takeSnapshot(world, { method: 'Volume' }),
        until: async (world) => (await statusOf(world, RelationalSnapshot, SNAPSHOT)) === 'Failed',
      },
      {
        user: 'an administrator installs what takes it',
        act: ({ server }) => seedSnapshots(server),
        until: (world) => world.isReady(RelationalSnapshot, SNAPSHOT),
      },
      make('heir', { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT } }),
      {
        user: 'deletes the snapshot, although it is the last base',
        act: async (world) => {
          await world.change(RelationalSnapshot, SNAPSHOT, { forceDelete: true })
          await world.remove(RelationalSnapshot, SNAPSHOT)
        },
        until: (world) => world.isGone(RelationalSnapshot, SNAPSHOT),
      },
    ],
    facts: async ({ server }) => ({ left: (await server.list(volumeSnapshot)).items.length }),
  },
  {
    ...common,
    title: 'a relational database is restored beside the old one, takes over its name, and the old one is deleted',
    given: [make('orders'), snapshot()],
    steps: [
      make('heir', { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT }, takesOver: 'orders' }),
      remove,
    ],
  },
  {
    ...common,
    title: 'a stopped relational database is deleted after a final snapshot, and connectTo of another is cleared',
    given: [
      make('orders', { finalSnapshotOnDelete: true }),
      change('stops it', { running: false }, async (world) => (await statusOf(world)) === 'Stopped'),
      make('reports', { connectTo: 'orders' }),
    ],
    steps: [remove],
  },
  {
    ...common,
    title: 'a relational database is deleted with a final snapshot',
    given: [make('orders', { onDelete: 'Retain' })],
    steps: [remove],
  },
]
