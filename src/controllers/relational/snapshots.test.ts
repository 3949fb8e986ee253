import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import { DAY_MS } from '../../core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { type SecretObject, secretText } from '../../core/secretData.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { secret, service } from '../../kube/builtin.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'

describe('RelationalSnapshot controller', () => {
  let world: RelationalWorld
  const begin = async (...engine: Parameters<RelationalWorld['start']>) => {
    world = await new RelationalWorld({ target: TARGET }).start(...engine)
    return world
  }
  const beginWithSnapshot = async (...backup: Parameters<RelationalWorld['completeBackup']>) => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders')
    await world.completeBackup(...backup)
  }
  afterEach(() => world.bench.stop())

  it('takes a snapshot once, even if its Backup is deleted', async () => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    await world.snapshot('orders')
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).phase).to.equal('WaitingForDependency')
    await world.play('orders')
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).phase).to.equal('BackingUp')
    await world.completeBackup()
    const taken = await world.status(SNAPSHOT, RelationalSnapshot)
    expect([taken.status, taken.backupId, taken.storageSize]).to.deep.equal(['Running', 'b1', '5Gi'])
    expect((await world.status('orders')).firstRecoverableAt).to.equal('2026-01-01T00:01:00Z')
    await world.bench.client.remove(postgresqlBackup, { namespace: world.home, name: `rsnap-${SNAPSHOT}` })
    await world.bench.rest()
    expect(await world.bench.find(postgresqlBackup, `rsnap-${SNAPSHOT}`, world.home)).to.equal(undefined)
  })

  it('keeps snapshots and archive of a database that is stopped', async () => {
    await beginWithSnapshot()
    const archive = await world.bench.client.list(barmanObjectStore)
    expect(archive.items).to.have.length(1)
    await world.change('orders', { running: false })
    const conditions = [{ type: 'cnpg.io/hibernation', status: 'True' }]
    await world.play('orders', { readyInstances: 0, conditions })
    await world.bench.clock.advance(DAY_MS)
    await world.bench.rest()
    const { phase, firstRecoverableAt } = await world.status('orders')
    expect([phase, firstRecoverableAt]).to.deep.equal(['Stopped', '2026-01-01T00:01:00Z'])
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).status).to.equal('Running')
    expect((await world.bench.client.list(postgresqlBackup)).items).to.have.length(1)
    expect((await world.bench.client.list(barmanObjectStore)).items).to.deep.equal(archive.items)
  })

  it('takes no snapshot while nothing is archived, because it could not be restored', async () => {
    await begin()
    world.database('orders', { archivingSuspended: true })
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders')
    const waiting = await world.status(SNAPSHOT, RelationalSnapshot)
    expect([waiting.phase, waiting.statusMessage]).to.deep.equal([
      'WaitingForDependency',
      'The archive of database "orders" is suspended, and nothing can be restored without its log.',
    ])
    // The engine is told later.
    await world.change('orders', { archivingSuspended: false, computePlan: 'nothing' })
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).phase).to.equal('WaitingForDependency')
    await world.change('orders', { computePlan: 'relational-dev' })
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).phase).to.equal('BackingUp')
  })

  it('reports why the engine failed to take a snapshot', async () => {
    await beginWithSnapshot({ phase: 'failed', error: 'the bucket is gone' })
    const failed = await world.status(SNAPSHOT, RelationalSnapshot)
    expect([failed.phase, failed.statusMessage]).to.deep.equal(['EngineRefused', 'the bucket is gone'])
  })

  describe('of a database that is recreated while the snapshot is taken', () => {
    const LATER = '2026-01-01T01:00:00Z'
    let archive: unknown
    const replace = async () => {
      await begin()
      world.database('orders')
      await world.bench.rest()
      await world.play('orders')
      await world.snapshot('orders')
      archive = (await world.status(SNAPSHOT, RelationalSnapshot)).serverName
      world.bench.client.edit(RelationalCluster.resource, { namespace: world.home, name: 'orders' }, (object) => {
        object.metadata.annotations = { ...object.metadata.annotations, [INCARNATION_ANNOTATION]: 'another-life' }
        object.metadata.creationTimestamp = LATER
      })
      await world.bench.rest()
      await world.play('orders')
      expect((await world.status('orders')).serverName).to.not.equal(archive)
    }

    it('keeps the archive of the former database if it was completed before', async () => {
      await replace()
      await world.completeBackup({ stoppedAt: '2026-01-01T00:01:00Z' })
      const { serverName, completedAt } = await world.status(SNAPSHOT, RelationalSnapshot)
      expect([serverName, completedAt]).to.deep.equal([archive, '2026-01-01T00:01:00Z'])
    })

    it('reports ReferenceMissing if it was completed after', async () => {
      await replace()
      await world.completeBackup({ stoppedAt: '2026-01-01T02:00:00Z' })
      const { serverName, completedAt, phase } = await world.status(SNAPSHOT, RelationalSnapshot)
      expect([serverName, completedAt, phase]).to.deep.equal([archive, undefined, 'ReferenceMissing'])
    })
  })

  describe('of a scheduled Backup', () => {
    const list = async () => (await world.bench.client.list(RelationalSnapshot.resource)).items
    const mirror = async () => {
      await begin()
      world.database('orders')
      await world.bench.rest()
      await world.play('orders')
      const now = new Date(world.bench.clock.now()).toISOString()
      world.bench.client.seed(postgresqlBackup, {
        apiVersion: 'postgresql.cnpg.io/v1',
        kind: 'Backup',
        metadata: {
          name: 'nightly',
          namespace: world.home,
          labels: { 'cnpg.io/scheduled-backup': 'relcbackup-orders' },
        },
        spec: { cluster: { name: 'relc-orders' } },
        status: { phase: 'completed', backupId: 'n1', startedAt: now, stoppedAt: now },
      })
      await world.bench.rest()
    }
    const loseBackup = async () => {
      await world.bench.client.remove(postgresqlBackup, { namespace: world.home, name: 'nightly' })
      await world.bench.rest()
    }

    it('mirrors each and deletes the snapshot with it once its retention has ended', async () => {
      await mirror()
      const [mirrored] = await list()
      expect(mirrored?.spec).to.deep.include({ kind: 'Scheduled', clusterName: 'orders' })
      expect(mirrored).to.have.nested.property('status.status', 'Running')
      await world.bench.clock.advance(14 * DAY_MS)
      await loseBackup()
      expect(await list()).to.deep.equal([])
    })

    it('keeps the snapshot until then if the Backup is lost before, as in a restore of the platform', async () => {
      await mirror()
      await loseBackup()
      const [kept] = await list()
      expect(kept).to.have.nested.property('status.status', 'Running')
      expect(kept).to.have.nested.property('status.statusMessage').that.includes('Its Backup is gone')
      await world.bench.clock.advance(14 * DAY_MS)
      await world.bench.rest()
      expect(await list()).to.deep.equal([])
    })
  })

  it('deletes a snapshot after its retentionDays', async () => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.snapshot('orders', { retentionDays: 1 })
    const now = new Date(world.bench.clock.now()).toISOString()
    await world.completeBackup({ startedAt: now, stoppedAt: now })
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).expiresAt).to.be.a('string')
    await world.bench.clock.advance(86_400_000)
    await world.bench.rest()
    expect(await world.bench.find(RelationalSnapshot.resource, SNAPSHOT, world.home)).to.equal(undefined)
  })

  const remove = async (id = SNAPSHOT) => {
    await world.bench.client.remove(RelationalSnapshot.resource, { namespace: world.home, name: id })
    await world.bench.rest()
  }
  const snapshot = (id = SNAPSHOT) => world.bench.find(RelationalSnapshot.resource, id, world.home)
  const SECOND = '0d1c8a57-8b9c-4a53-8d5e-6f8f3c1b5a10'
  async function withOneBase() {
    await beginWithSnapshot()
  }

  it('blocks the deletion of the last base backup of a database until there is another', async () => {
    await withOneBase()
    await remove()
    const held = await world.status(SNAPSHOT, RelationalSnapshot)
    expect([held.status, held.phase]).to.deep.equal(['Deleting', 'DeletionBlocked'])
    expect(held.statusMessage).to.contain('relationalclusters/orders')
    expect(await world.bench.find(postgresqlBackup, `rsnap-${SNAPSHOT}`, world.home)).to.not.equal(undefined)
    await world.snapshot('orders', { name: 'second' }, SECOND)
    await world.completeBackup({}, SECOND)
    expect(await snapshot()).to.equal(undefined)
  })

  it('deletes the last base backup with forceDelete or with its database', async () => {
    await withOneBase()
    await remove()
    const ref = { namespace: world.home, name: SNAPSHOT }
    await world.bench.client.mergePatch(RelationalSnapshot.resource, ref, { spec: { forceDelete: true } })
    await world.bench.rest()
    expect(await snapshot()).to.equal(undefined)
    await world.snapshot('orders', { name: 'second' }, SECOND)
    await world.completeBackup({}, SECOND)
    await remove(SECOND)
    expect(await snapshot(SECOND)).to.not.equal(undefined)
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await world.bench.rest()
    expect(await snapshot(SECOND)).to.equal(undefined)
  })

  it('starts the recovery window of a recreated database with its own backups', async () => {
    await begin()
    world.database('orders', { finalSnapshotOnDelete: true })
    await world.bench.rest()
    await world.play('orders')
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await world.bench.rest()
    const [final] = (await world.bench.client.list(RelationalSnapshot.resource)).items
    await world.completeBackup({}, final?.metadata.name)
    await world.bench.clock.advance(180_000)
    await world.bench.rest()
    expect(await world.bench.find(RelationalCluster.resource, 'orders', world.home)).to.equal(undefined)
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    const window = async () => {
      const { lastBackupAt, firstRecoverableAt } = await world.status('orders')
      return [firstRecoverableAt, lastBackupAt]
    }
    expect(await window()).to.deep.equal([undefined, undefined])
    await world.snapshot('orders', { name: 'second' }, SECOND)
    await world.completeBackup({ startedAt: '2026-01-01T00:10:00Z', stoppedAt: '2026-01-01T00:11:00Z' }, SECOND)
    expect(await window()).to.deep.equal(['2026-01-01T00:11:00Z', '2026-01-01T00:11:00Z'])
  })

  it('reports NameOccupied for a second snapshot of the name until the first is deleted', async () => {
    await withOneBase()
    await world.bench.clock.advance(1_000)
    await world.snapshot('orders', {}, SECOND)
    expect((await world.status(SECOND, RelationalSnapshot)).phase).to.equal('NameOccupied')
    const ref = { namespace: world.home, name: SNAPSHOT }
    await world.bench.client.mergePatch(RelationalSnapshot.resource, ref, { spec: { forceDelete: true } })
    await remove()
    expect((await world.status(SECOND, RelationalSnapshot)).phase).to.equal('BackingUp')
  })

  it('rejects a targetTime before the recovery window', async () => {
    await withOneBase()
    const restoreFrom = { clusterName: 'orders', snapshotId: SNAPSHOT, targetTime: '2025-12-31T00:00:00Z' }
    world.database('heir', { restoreFrom })
    await world.bench.rest()
    const refused = await world.status('heir')
    expect([refused.phase, refused.statusMessage?.includes('2025-12-31T00:00:00Z cannot')]).to.deep.equal([
      'ConfigurationInvalid',
      true,
    ])
    expect(await world.bench.find(postgresqlCluster, 'relc-heir', world.home)).to.equal(undefined)
  })

  it('restores a database that takes over name and traffic of another once, after its data', async () => {
    await withOneBase()
    world.database('heir', { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT }, takesOver: 'orders' })
    await world.bench.rest()
    expect((await world.status('heir')).phase).to.equal('Restoring')
    const spec = async () =>
      (await world.bench.find(RelationalCluster.resource, 'orders', world.home))?.spec as Record<string, unknown>
    expect((await spec()).running).to.equal(true)
    await world.play('heir')
    expect(await spec()).to.include({ running: false, connectTo: 'heir' })
    const found = await world.bench.find<KubeObject & { spec: { selector: object } }>(
      service,
      'relcrw-orders',
      world.home,
    )
    expect(found?.spec.selector).to.include({ 'cnpg.io/cluster': 'relc-heir' })
    await world.change('orders', { running: true, connectTo: null })
    expect((await spec()).running, 'who takes it back is left alone').to.equal(true)
  })

  it('copies a password in a takeover once and generates a new one if its Secret is deleted', async () => {
    await withOneBase()
    world.database('heir', { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT }, takesOver: 'orders' })
    await world.bench.rest()
    await world.play('heir')
    const passwordOf = async (name: string) =>
      secretText((await world.bench.find<SecretObject>(secret, `relcowner-${name}`, world.home))?.data, 'password')
    expect(await passwordOf('heir'))
      .to.be.a('string')
      .and.equal(await passwordOf('orders'))
    await world.bench.client.remove(secret, { namespace: world.home, name: 'relcowner-heir' })
    await world.bench.rest()
    expect(await passwordOf('heir'))
      .to.be.a('string')
      .and.not.equal(await passwordOf('orders'))
  })

  it('does not take over a database that was created after the restored one', async () => {
    await withOneBase()
    world.database('heir', { restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT }, takesOver: 'orders' })
    await world.bench.rest()
    world.bench.client.edit(RelationalCluster.resource, { namespace: world.home, name: 'orders' }, (object) => {
      object.metadata.creationTimestamp = '2099-01-01T00:00:00Z'
    })
    await world.bench.rest()
    await world.play('heir')
    const namesake = await world.bench.find(RelationalCluster.resource, 'orders', world.home)
    expect(namesake?.spec).to.deep.include({ running: true }).and.not.have.property('connectTo')
    expect((await world.status('heir')).tookOverAt, 'it looks no further').to.be.a('string')
  })

  it('allows a database to take over its own name from a deleted one', async () => {
    await withOneBase()
    // The archive of an earlier database, so the snapshot survives the deletion of this one.
    world.bench.client.edit(RelationalSnapshot.resource, { namespace: world.home, name: SNAPSHOT }, (object) => {
      object.status = { ...(object.status as object), serverName: 'relc-orders-before' }
    })
    await world.bench.rest()
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await world.bench.rest()
    const restoreFrom = { clusterName: 'orders', snapshotId: SNAPSHOT }
    world.database('orders', { restoreFrom, takesOver: 'orders' })
    await world.bench.rest()
    await world.play('orders')
    const found = await world.bench.find(RelationalCluster.resource, 'orders', world.home)
    expect(found?.spec).to.deep.include({ running: true, restoreFrom }).and.not.have.property('connectTo')
    expect((await world.status('orders')).tookOverAt).to.be.a('string')
  })

  it('reports an invalid status.completedAt and how to correct it', async () => {
    await begin()
    world.database('orders')
    await world.snapshot('orders', { retentionDays: 1 })
    world.bench.client.edit(RelationalSnapshot.resource, { namespace: world.home, name: SNAPSHOT }, (object) => {
      object.status = { ...(object.status as object), completedAt: 'yesterday' }
    })
    await world.bench.rest()
    expect((await world.status(SNAPSHOT, RelationalSnapshot)).statusMessage).to.equal(
      'status.completedAt is "yesterday", which is not a time; set it to the time when the backup ended.',
    )
  })
})
