import { expect } from 'chai'
import { seedGroup, seedVelero } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { TARGET } from '../../test/make/relational.ts'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { CHART, LifecycleWorld } from '../../test/worlds/lifecycleWorld.ts'
import { RelationalWorld, SNAPSHOT } from '../../test/worlds/relationalWorld.ts'
import { StorageBench } from '../../test/worlds/storageWorld.ts'
import { DOMAIN, VectorWorld } from '../../test/worlds/vectorWorld.ts'
import { FakeObjectStore } from '../adapters/objectstorage/fake.ts'
import { FakePlatformKeys } from '../adapters/platformkeys/fake.ts'
import { FakeCircuit, FakeSources } from '../adapters/sources/fake.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { SETTINGS_NAME, TARGET_SECRETS } from '../contracts/platformbackups/names.ts'
import type { ErrorCode } from '../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import type { Reason } from '../core/reasons.ts'
import { ENFORCEMENT_POINTS } from '../core/refusals.ts'
import { BlueprintTemplate } from '../crds/blueprints.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { ComponentInstall } from '../crds/lifecycle.ts'
import { AccountBucket, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { ComputePlan } from '../crds/plans.ts'
import { PlatformBackupSettings } from '../crds/platformBackups.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { RolloutExecution } from '../crds/rollouts.ts'
import { DeploymentSource } from '../crds/sources.ts'
import { SecretVault } from '../crds/vaults.ts'
import { secret } from '../kube/builtin.ts'
import { veleroBackupStorageLocation, volumeSnapshotClass } from '../kube/velero.ts'
import { templateController } from './blueprints/templates.ts'
import { sourceController } from './sources.ts'
import { VAULT_CONTROLLERS } from './vaults/index.ts'

/** Writes an invalid object as kubectl or Git would, and returns the phase that the controllers give it. */
type Provocation = () => Promise<string | undefined>

async function storage(
  work: (bench: StorageBench, store: FakeObjectStore) => Promise<string | undefined>,
): Promise<string | undefined> {
  const store = new FakeObjectStore()
  const world = new StorageBench({ store })
  try {
    world.account()
    await world.bench.start()
    return await work(world, store)
  } finally {
    await world.bench.stop()
  }
}

async function bucketWith(world: StorageBench, bucket: object = {}, name = 'one') {
  world.bucket(name, bucket)
  await world.bench.rest()
  return (await world.says(AccountBucket, `media.${name}`))[1]
}

/** Stores an object in a bucket and deletes the bucket. */
async function removeFull(world: StorageBench, store: FakeObjectStore, isLocked: boolean) {
  await bucketWith(world)
  world.key()
  await world.bench.rest()
  expect(store.attempt(await world.pairOf('uploader'), 'write', 'media.one', 'a')).to.equal(200)
  if (isLocked) store.buckets.get('media.one')?.lockedUntil.set('a', Number.MAX_SAFE_INTEGER)
  await world.remove(AccountBucket, 'media.one')
  return (await world.says(AccountBucket, 'media.one'))[1]
}

async function relational(
  work: (world: RelationalWorld) => Promise<string | undefined>,
  options: ConstructorParameters<typeof RelationalWorld>[0] = { target: TARGET },
): Promise<string | undefined> {
  const world = await new RelationalWorld(options).start()
  try {
    return await work(world)
  } finally {
    await world.bench.stop()
  }
}

const database = (spec: object) => async (world: RelationalWorld) => {
  world.database('orders', spec)
  await world.bench.rest()
  return (await world.status('orders')).phase
}

async function withSnapshot(world: RelationalWorld): Promise<void> {
  await database({})(world)
  await world.play('orders')
  await world.snapshot('orders')
  await world.completeBackup()
}

const ELSEWHERE = '33333333-3333-4333-8333-333333333333'

/** Returns the phase of an instance with a backup policy without one of the objects that it needs. */
async function withBackupPolicy(lacking: Resource, name: string): Promise<string | undefined> {
  const world = new World((all) => all.filter((one) => one.name === 'containerinstance'))
  seedGroup(world.server)
  seedVelero(world.server)
  await world.server.remove(lacking, { name, ...(lacking.namespaced && { namespace: 'velero' }) })
  await world.lead()
  await world.make(ContainerInstance, 'shop', {
    components: [{ name: 'web', image: 'site:1' }],
    volumes: [{ name: 'site', kind: 'Persistent', size: '1Gi', storageClass: 'standard' }],
    backupPolicy: { schedule: '0 2 * * *', retentionDays: 7 },
  })
  await world.rest()
  const found = await world.find(ContainerInstance.resource, 'shop')
  await world.stop()
  return (found?.status as { phase?: string } | undefined)?.phase
}

/** Returns the phase of backup settings whose target rejects the credentials. */
async function platformTarget(prepare: (world: World) => void): Promise<string | undefined> {
  const world = new World((all) => all.filter(({ name }) => name === 'platformbackupsettings'))
  seedVelero(world.server)
  prepare(world)
  await world.makeSecret(TARGET_SECRETS[0], { 'access-key-id': 'id', 'secret-access-key': 'wrong' }, SYSTEM_NAMESPACE)
  await world.lead()
  const target = { bucket: 'backups', endpoint: 'https://store.test', secretName: TARGET_SECRETS[0] }
  await world.make(PlatformBackupSettings, SETTINGS_NAME, { target }, SYSTEM_NAMESPACE)
  await world.rest()
  const found = await world.find(PlatformBackupSettings.resource, SETTINGS_NAME, SYSTEM_NAMESPACE)
  await world.stop()
  return (found?.status as { phase?: string } | undefined)?.phase
}

/** Returns the phase of an install of the component "shop" beside the installed component "there". */
async function installing(spec: object, component: object = {}): Promise<string | undefined> {
  const world = new LifecycleWorld()
  world.component('shop', component)
  world.component('there', { workloads: [{ kind: 'Deployment', name: 'there' }] })
  world.deployment('there', 1)
  world.feed.push(CHART, '1.0.0')
  await world.start()
  world.install('first', spec)
  await world.settle()
  const { phase } = await world.statusOf(ComponentInstall, 'first')
  await world.bench.stop()
  return phase
}

const PROVOCATIONS: readonly [ErrorCode, Reason, Provocation, detail?: string][] = [
  ['BAD_REQUEST', 'ConfigurationInvalid', () => relational(database({ cpuLimit: '1m' }))],
  [
    'ALREADY_EXISTS',
    'NameOccupied',
    () =>
      relational(async (world) => {
        await withSnapshot(world)
        await world.bench.clock.advance(1_000)
        await world.snapshot('orders', {}, ELSEWHERE)
        return (await world.status(ELSEWHERE, RelationalSnapshot)).phase
      }),
  ],
  [
    'IN_USE',
    'DeletionBlocked',
    () =>
      storage(async (world) => {
        await bucketWith(world)
        await world.remove(ObjectStorageAccount, 'media')
        return (await world.says(ObjectStorageAccount, 'media'))[1]
      }),
  ],
  ['BUCKET_NOT_EMPTY', 'DeletionBlocked', () => storage((world, store) => removeFull(world, store, false))],
  ['OBJECTS_LOCKED', 'DeletionBlocked', () => storage((world, store) => removeFull(world, store, true))],
  [
    'HOST_TAKEN',
    'NameOccupied',
    async () => {
      const world = new VectorWorld()
      await world.start()
      const spec = { enableIngress: true, ingressHost: `shop-11111111.${DOMAIN}` }
      for (const name of ['first', 'second']) {
        await world.create(spec, name)
        await world.converge(name)
      }
      const said = await world.says('second')
      await world.stop()
      return said?.split(/[ :]/)[1]
    },
  ],
  [
    'PATH_TAKEN',
    'NameOccupied',
    async () => {
      const world = new World((all) => all.filter(({ name }) => /function/.test(name)))
      seedGroup(world.server)
      await world.lead()
      await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' })
      for (const functionName of ['first', 'second']) {
        const triggers = [{ name: 'web', kind: 'Http', path: '/orders' }]
        const spec = { namespaceName: 'shop', functionName, handler: 'index', image: 'orders:1', triggers }
        await world.make(ServerlessFunction, functionObjectName('shop', functionName), spec)
        await world.rest()
      }
      const found = await world.find(ServerlessFunction.resource, functionObjectName('shop', 'second'))
      await world.stop()
      return (found?.status as { phase?: string } | undefined)?.phase
    },
  ],
  ['BACKUP_TARGET_MISSING', 'ConfigurationInvalid', () => withBackupPolicy(veleroBackupStorageLocation, 'default')],
  ['SNAPSHOT_CLASS_MISSING', 'ConfigurationInvalid', () => withBackupPolicy(volumeSnapshotClass, 'snapshots')],
  [
    'VOLUME_NOT_SHAREABLE',
    'ConfigurationInvalid',
    async () => {
      const world = new World((all) => all.filter(({ name }) => name === 'containerinstance'))
      seedGroup(world.server)
      await world.lead()
      const component = { name: 'web', image: 'site:1', replicas: 2, mounts: [{ volume: 'site', path: '/site' }] }
      const volume = { name: 'site', kind: 'Persistent', size: '1Gi' }
      await world.make(ContainerInstance, 'shop', { components: [component], volumes: [volume] })
      await world.rest()
      const found = await world.find(ContainerInstance.resource, 'shop')
      await world.stop()
      return (found?.status as { phase?: string } | undefined)?.phase
    },
  ],
  [
    'VAULT_NAME_TAKEN',
    'NameOccupied',
    async () => {
      const bench = new ControllerBench(VAULT_CONTROLLERS.map((each) => each(new FakePlatformKeys('first'))))
      const spaces = ['shop', 'other'].map((group) => bench.seedGroup(group).groupSpace)
      await bench.start()
      for (const namespace of spaces) {
        bench.seed(SecretVault, 'safe', SecretVault.spec.parse({}), { namespace })
        await bench.rest()
      }
      const { status } = await bench.client.get<SecretVault & KubeObject>(SecretVault.resource, {
        namespace: spaces[1],
        name: 'safe',
      })
      await bench.stop()
      return status?.phase
    },
  ],
  [
    'LAST_RECOVERY_BASE',
    'DeletionBlocked',
    () =>
      relational(async (world) => {
        await withSnapshot(world)
        await world.bench.client.remove(RelationalSnapshot.resource, { namespace: world.home, name: SNAPSHOT })
        await world.bench.rest()
        return (await world.status(SNAPSHOT, RelationalSnapshot)).phase
      }),
  ],
  [
    'BACKUP_TARGET_MISSING',
    'ConfigurationInvalid',
    () => relational(database({ backupEnabled: true }), {}),
    ' of a RelationalCluster',
  ],
  [
    'OUTSIDE_RECOVERY_WINDOW',
    'ConfigurationInvalid',
    () =>
      relational(async (world) => {
        await withSnapshot(world)
        const restoreFrom = { clusterName: 'orders', snapshotId: SNAPSHOT, targetTime: '2020-01-01T00:00:00Z' }
        world.database('heir', { restoreFrom })
        await world.bench.rest()
        return (await world.status('heir')).phase
      }),
  ],
  [
    'QUOTA_EXCEEDED',
    'QuotaExceeded',
    () =>
      storage(async (world) => {
        await world.patch(ObjectStorageAccount, 'media', { maxBuckets: 1 })
        await bucketWith(world)
        return bucketWith(world, {}, 'two')
      }),
  ],
  ['PLAN_NOT_FOUND', 'PlanNotFound', () => relational(database({ computePlan: 'nothing' }))],
  [
    'PLAN_DEPRECATED',
    'PlanNotFound',
    () =>
      relational(async (world) => {
        const plan = { name: 'relational-small' }
        await world.bench.client.mergePatch(ComputePlan.resource, plan, { spec: { deprecated: true } })
        return database({ computePlan: plan.name })(world)
      }),
  ],
  ['CLUSTER_NOT_PROJECTED', 'ReferenceMissing', () => relational(database({ clusterId: ELSEWHERE }))],
  [
    'CLUSTER_NOT_PROJECTED',
    'ClusterUnreachable',
    async () => {
      const world = new World((all) => all.filter(({ name }) => name === 'secretvault'))
      seedGroup(world.server)
      await world.lead()
      await world.make(PlatformCluster, ELSEWHERE, { displayName: 'there', domain: 'example.test' })
      await world.make(SecretVault, 'shop', { clusterId: ELSEWHERE })
      await world.rest()
      const found = await world.find(SecretVault.resource, 'shop')
      await world.stop()
      return (found?.status as { phase?: string } | undefined)?.phase
    },
  ],
  ['REFERENCE_NOT_FOUND', 'ReferenceMissing', () => relational(database({ connectTo: 'nobody' }))],
  ['IMAGE_NOT_ALLOWED', 'ConfigurationInvalid', () => relational(database({ imageName: 'example.org/pg:1' }))],
  ['PUBLIC_ACCESS_DISABLED', 'ConfigurationInvalid', () => storage((world) => bucketWith(world, { publicRead: true }))],
  ['FEATURE_UNSUPPORTED', 'ConfigurationInvalid', () => storage((world) => bucketWith(world, { quotaBytes: 2 ** 30 }))],
  [
    'credential-rejected',
    'ConfigurationInvalid',
    async () => {
      const bench = new ControllerBench([sourceController({ port: new FakeSources(), circuit: new FakeCircuit() })])
      const { boundarySpace: namespace } = bench.seedGroup('shop')
      const data = { token: Buffer.from('bad').toString('base64') }
      const metadata = { name: 'shop', namespace }
      bench.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
      const spec = { provider: 'Gitea', displayName: 'Shop', baseUrl: 'https://git.example.com' }
      const named = { ...spec, credentials: { secretName: 'shop' } }
      bench.seed(DeploymentSource, ELSEWHERE, named, { namespace })
      await bench.start()
      const found = (await bench.find(DeploymentSource.resource, ELSEWHERE, namespace)) as { status?: object }
      await bench.stop()
      return (found.status as { phase?: string }).phase
    },
  ],
  ['ComponentNotFound', 'ReferenceMissing', () => installing({ component: 'gone' })],
  ['AlreadyInstalled', 'ConfigurationInvalid', () => installing({ component: 'there' })],
  ['NotInstalled', 'ConfigurationInvalid', () => installing({ component: 'shop', kind: 'Repair' })],
  [
    'DependencyMissing',
    'ReferenceMissing',
    () => installing({ component: 'shop' }, { dependsOn: [{ name: 'absent' }] }),
  ],
  [
    'ValueMissing',
    'ConfigurationInvalid',
    () => installing({ component: 'shop' }, { required: [{ key: 'auth.password', title: 'Password' }] }),
  ],
  ['target-rejected', 'ConfigurationInvalid', () => platformTarget(() => {})],
  [
    'rollout-in-flight',
    'WaitingForDependency',
    () =>
      platformTarget(({ server }) => {
        server.seed(RolloutExecution.resource, {
          apiVersion: RolloutExecution.apiVersion,
          kind: RolloutExecution.kind,
          metadata: { name: ELSEWHERE, namespace: SYSTEM_NAMESPACE },
          status: { state: 'Executing' },
        })
      }),
  ],
  [
    'TEMPLATE_INVALID',
    'ConfigurationInvalid',
    async () => {
      const bench = new ControllerBench([templateController])
      const { boundarySpace: namespace } = bench.seedGroup('shop')
      bench.seed(BlueprintTemplate, 'shop', { slug: 'shop', content: 'format: 2' }, { namespace })
      await bench.start()
      const found = (await bench.find(BlueprintTemplate.resource, 'shop', namespace)) as { status?: object }
      await bench.stop()
      return (found.status as { phase?: string }).phase
    },
  ],
  [
    'ENGINE_MISSING',
    'EngineMissing',
    async () => {
      const world = await new RelationalWorld({ target: TARGET }).start('none')
      const phase = await database({})(world)
      await world.bench.stop()
      return phase
    },
  ],
]

describe('refusals of REST that admission cannot check', () => {
  for (const [code, phase, provoke, detail = ''] of PROVOCATIONS) {
    it(`are reported by a phase to kubectl: ${code}${detail} as ${phase}`, async () => {
      expect(await provoke()).to.equal(phase)
    })
  }

  it('cover all phases of ENFORCEMENT_POINTS', () => {
    const listed = Object.entries(ENFORCEMENT_POINTS).flatMap(([code, gates]) =>
      gates.flatMap((gate) => (gate.by === 'phase' ? [`${code} ${gate.phase}`] : [])),
    )
    const provoked = new Set(PROVOCATIONS.map(([code, phase]) => `${code} ${phase}`))
    expect([...provoked].sort()).to.deep.equal(listed.sort())
  })
})
