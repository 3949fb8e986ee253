import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import { type KubeObject, resourceId } from '../../core/object.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { customResourceDefinition, storageClass } from '../../kube/builtin.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import { volumeSnapshot, volumeSnapshotClass } from '../../kube/velero.ts'

type Spec = KubeObject & { spec: Record<string, unknown> }

const NAME = `rsnap-${SNAPSHOT}`
const BOTH = [
  { name: NAME, type: 'PG_DATA' },
  { name: `${NAME}-wal`, type: 'PG_WAL' },
]
const DATA = BOTH.slice(0, 1)

describe('snapshots of the volumes of a relational database', () => {
  let world: RelationalWorld
  beforeEach(async () => {
    world = await new RelationalWorld({ target: TARGET }).start()
  })
  afterEach(() => world.bench.stop())

  const statusOf = () => world.status(SNAPSHOT, RelationalSnapshot)
  const engine = (name = 'orders') => world.bench.find<Spec>(postgresqlCluster, `relc-${name}`, world.home)
  const backup = () => world.bench.find<Spec>(postgresqlBackup, NAME, world.home)
  const begin = async (spec: object = {}) => {
    world.database('orders', spec)
    await world.bench.rest()
    await world.play('orders')
    expect((await engine())?.spec).to.not.have.property('backup')
    await world.snapshot('orders', { method: 'Volume' })
  }
  const take = async (spec: object = {}, elements: object[] = DATA, restoreSize = '6Gi') => {
    world.installSnapshots()
    await begin(spec)
    world.volumeSnapshot(NAME, restoreSize)
    await world.completeBackup({ backupId: NAME, snapshotBackupStatus: { elements } })
  }
  const restore = async (spec: object, name = 'copy') => {
    world.database(name, { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT }, ...spec })
    await world.bench.rest()
    return world.status(name)
  }

  it('wait until a VolumeSnapshotClass fits the storage class of the volumes', async () => {
    await begin()
    const before = await statusOf()
    expect([before.phase, before.statusMessage]).to.deep.equal([
      'ConfigurationInvalid',
      'The volumes of "orders" cannot be snapshotted: its storage class has no VolumeSnapshotClass. An administrator can create one for its driver.',
    ])
    expect(await backup()).to.equal(undefined)
    world.installSnapshots()
    await world.bench.rest()
    expect((await statusOf()).phase).to.equal('BackingUp')
  })

  it('are hot ones of the primary, by the class that the Cluster names before', async () => {
    world.installSnapshots()
    await begin()
    const volumeSnapshot = { className: 'disk-snapshots', online: true, snapshotOwnerReference: 'backup' }
    expect((await engine())?.spec.backup).to.deep.equal({ volumeSnapshot })
    expect((await backup())?.spec).to.deep.equal({
      ...{ cluster: { name: 'relc-orders' }, method: 'volumeSnapshot', online: true, target: 'primary' },
    })
  })

  it('record what a restore needs, and how large they are', async () => {
    world.installSnapshots()
    world.volumeSnapshot(`${NAME}-wal`, '1Gi')
    await take({ storageClass: 'disks', walStorageSize: '2Gi' }, BOTH)
    const { volumeSnapshots, storageClass: held, storageSize, walStorageSize, sizeBytes } = await statusOf()
    expect(volumeSnapshots).to.deep.equal({ storage: NAME, walStorage: `${NAME}-wal` })
    expect([held, storageSize, walStorageSize, sizeBytes]).to.deep.equal(['disks', '6Gi', '2Gi', 7 * 2 ** 30])
  })

  it('show no size that no driver can mean', async () => {
    await take({}, DATA, '999999999999999Ei')
    const { completedAt, sizeBytes } = await statusOf()
    expect([completedAt, sizeBytes]).to.deep.equal(['2026-01-01T00:01:00Z', undefined])
  })

  it('are the base of the recovery window as others are', async () => {
    await take()
    expect((await world.status('orders')).firstRecoverableAt).to.equal('2026-01-01T00:01:00Z')
    await world.bench.client.remove(RelationalSnapshot.resource, { namespace: world.home, name: SNAPSHOT })
    await world.bench.rest()
    expect((await statusOf()).phase).to.equal('DeletionBlocked')
    const spec = { forceDelete: true }
    await world.bench.client.mergePatch(
      RelationalSnapshot.resource,
      { namespace: world.home, name: SNAPSHOT },
      { spec },
    )
    await world.bench.rest()
    expect([await backup(), (await engine())?.spec.backup]).to.deep.equal([undefined, undefined])
  })

  it('begin the window if they are earlier than the first base backup in the store, which does not know of them', async () => {
    await take()
    const { serverName = '' } = (await world.status('orders')) as { serverName?: string }
    const store = { namespace: world.home, name: 'relcbackup-orders' }
    for (const [first, expected] of [
      ['2026-01-02T00:00:00Z', '2026-01-01T00:01:00Z'],
      ['2025-12-31T00:00:00Z', '2025-12-31T00:00:00Z'],
    ] as const) {
      const status = { serverRecoveryWindow: { [serverName]: { firstRecoverabilityPoint: first } } }
      await world.bench.client.mergePatch(barmanObjectStore, store, { status }, { subresource: 'status' })
      await world.bench.rest()
      expect((await world.status('orders')).firstRecoverableAt).to.equal(expected)
    }
  })

  it('are reported as failed if the engine names none of them', async () => {
    await take({}, [])
    expect((await statusOf()).phase).to.equal('EngineRefused')
  })

  it('are requested again if the engine refuses the Backup before it has seen the class in the Cluster', async () => {
    world.installSnapshots()
    await begin()
    const first = (await backup())?.metadata.uid
    const error = 'no volumeSnapshot section defined on the target cluster'
    await world.completeBackup({ phase: 'failed', error, startedAt: null, stoppedAt: null })
    const refused = await statusOf()
    expect([refused.phase, refused.statusMessage]).to.deep.equal(['EngineRefused', error])
    await world.bench.clock.advance(31_000)
    await world.bench.rest()
    expect((await backup())?.metadata.uid).to.not.be.oneOf([first, undefined])
    expect((await statusOf()).phase).to.equal('BackingUp')
  })

  it('are restored from with the log of the archive, in volumes of the same class', async () => {
    await take({ storageClass: 'disks' })
    await restore({ computePlan: 'relational-small' })
    const { bootstrap, externalClusters, storage } = (await engine('copy'))?.spec ?? {}
    const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: NAME }
    expect(bootstrap)
      .to.have.property('recovery')
      .that.deep.includes({
        ...{ source: 'origin', volumeSnapshots: { storage: source }, recoveryTarget: { targetImmediate: true } },
      })
    expect(externalClusters).to.have.length(1)
    expect(storage).to.deep.include({ size: '20Gi', storageClass: 'disks' })
  })

  const refusals: [sentence: string, spec: object, phase: string, message: RegExp][] = [
    ['of less storage', { storageSize: '5Gi' }, 'StorageCannotShrink', /at least 6Gi; 5Gi is less/],
    ['of another version', { engineVersion: '16' }, 'ConfigurationInvalid', /is of version 17/],
    [
      'with a volume of the log that it has not',
      { walStorageSize: '1Gi' },
      'ConfigurationInvalid',
      /leave walStorageSize/,
    ],
    ['by another driver', { storageClass: 'attic' }, 'ConfigurationInvalid', /another driver/],
  ]
  for (const [sentence, spec, phase, message] of refusals)
    it(`are not restored to a database ${sentence}`, async () => {
      world.bench.client.seed(storageClass, {
        ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'attic.example.com' },
        metadata: { name: 'attic' },
      })
      await take()
      const refused = await restore({ storageSize: '8Gi', ...spec })
      expect([refused.phase, await engine('copy')]).to.deep.equal([phase, undefined])
      expect(refused.statusMessage).to.match(message)
    })

  it('are restored to another storage class of their driver', async () => {
    world.bench.client.seed(storageClass, {
      ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'disks.example.com' },
      metadata: { name: 'fast' },
    })
    await take()
    await restore({ storageSize: '8Gi', storageClass: 'fast' })
    expect((await engine('copy'))?.spec.storage).to.deep.include({ size: '8Gi', storageClass: 'fast' })
  })

  for (const [sentence, gone, walSize, phase, message] of [
    ['of the data is gone', NAME, '2Gi', 'ReferenceMissing', `VolumeSnapshot "${NAME}" of the snapshot is gone`],
    ['of the log is gone', `${NAME}-wal`, '2Gi', 'ReferenceMissing', `VolumeSnapshot "${NAME}-wal" of the snapshot`],
    ['needs a larger volume of the log', '', '1Gi', 'StorageCannotShrink', 'a walStorageSize of at least 2Gi'],
    ['needs a volume of the log', '', undefined, 'ConfigurationInvalid', 'set walStorageSize to at least 2Gi'],
  ] as const)
    it(`are not restored from if a VolumeSnapshot ${sentence}`, async () => {
      world.volumeSnapshot(`${NAME}-wal`, '1Gi')
      await take({ walStorageSize: '2Gi' }, BOTH)
      if (gone !== '') await world.bench.client.remove(volumeSnapshot, { namespace: world.home, name: gone })
      const wal = walSize === undefined ? {} : { walStorageSize: walSize }
      const refused = await restore({ storageSize: '8Gi', ...wal })
      expect([refused.phase, await engine('copy')]).to.deep.equal([phase, undefined])
      expect(refused.statusMessage).to.contain(message)
    })

  it('are not restored from once the cluster has no snapshots of volumes any more', async () => {
    await take()
    for (const resource of [volumeSnapshot, volumeSnapshotClass])
      await world.bench.client.remove(customResourceDefinition, { name: resourceId(resource) })
    await world.bench.rest()
    const refused = await restore({ storageSize: '8Gi' })
    expect([refused.phase, refused.statusMessage]).to.deep.equal([
      'ReferenceMissing',
      `VolumeSnapshot "${NAME}" of the snapshot is gone: restore from another one.`,
    ])
  })

  it('wait until the Cluster names the class, whatever prevents it', async () => {
    world.installSnapshots()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.change('orders', { computePlan: 'nothing' })
    await world.snapshot('orders', { method: 'Volume' })
    const { phase, statusMessage } = await statusOf()
    expect([phase, await backup()]).to.deep.equal(['WaitingForDependency', undefined])
    expect(statusMessage).to.contain('is being prepared for snapshots of its volumes')
    await world.change('orders', { computePlan: 'relational-dev' })
    expect((await statusOf()).phase).to.equal('BackingUp')
  })

  it('leave databases alone whose snapshots go to the backup target', async () => {
    world.installSnapshots()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders')
    await world.completeBackup()
    const { spec } = (await engine()) ?? {}
    expect(spec).to.not.have.property('backup')
  })
})
