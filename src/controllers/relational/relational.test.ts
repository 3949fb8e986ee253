import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { pod, secret, service } from '../../kube/builtin.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'

describe('the controller of relational databases', () => {
  let world: RelationalWorld
  const begin = async (...engine: Parameters<RelationalWorld['start']>) => {
    world = await new RelationalWorld({ target: TARGET }).start(...engine)
    return world
  }
  afterEach(() => world.bench.stop())

  it('says what to install if the engine is missing, asks for nothing, and goes on when it comes', async () => {
    await begin('none')
    world.database('orders')
    await world.bench.rest()
    const missing = await world.status('orders')
    expect([missing.status, missing.phase]).to.deep.equal(['Failed', 'EngineMissing'])
    expect(missing.statusMessage).to.contain('CloudNativePG is not installed')
    const before = world.bench.client.calls.length
    await world.bench.clock.advance(60_000)
    await world.bench.rest()
    const asked = world.bench.client.calls.slice(before).filter(({ verb }) => verb !== 'watch')
    expect(asked).to.deep.equal([])
    world.install()
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('WaitingForWorkload')
    await world.play('orders')
    expect((await world.status('orders')).status).to.equal('Running')
  })

  it('says that the plugin is missing only if backups are wanted', async () => {
    await begin('no plugin')
    world.database('plain', { backupEnabled: false })
    world.database('orders')
    await world.bench.rest()
    expect((await world.status('orders')).statusMessage).to.contain('Barman Cloud plugin')
    expect((await world.status('plain')).phase).to.equal('WaitingForWorkload')
  })

  it('fills in the instances of the plan, and writes nothing where nothing differs', async () => {
    await begin()
    world.database('orders', { computePlan: 'relational-medium' })
    await world.bench.rest()
    const object = await world.bench.find<KubeObject & { spec: { replicas?: number } }>(
      RelationalCluster.resource,
      'orders',
      world.home,
    )
    expect(object?.spec.replicas).to.equal(3)
    await world.play('orders')
    world.bench.writes()
    await world.play('orders', { phaseReason: '' })
    const writes = world.bench
      .writes()
      .filter((call) => !call.startsWith('get') && !call.includes('clusters.postgresql'))
    expect(writes).to.deep.equal([])
  })

  it('fills them in whatever rule about something else came after the database', async () => {
    await begin()
    world.database('orders', { computePlan: 'relational-medium', databaseName: 'postgres' })
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('WaitingForWorkload')
  })

  it('refuses a spec that the instances of the plan do not agree with, in the words of the rule', async () => {
    await begin()
    world.database('orders', { computePlan: 'relational-dev', synchronousReplicas: 1 })
    await world.bench.rest()
    const { status, phase, statusMessage } = await world.status('orders')
    expect([status, phase]).to.deep.equal(['Failed', 'ConfigurationInvalid'])
    expect(statusMessage).to.match(/^synchronousReplicas must be less than replicas/)
    await world.bench.client.mergePatch(
      RelationalCluster.resource,
      { namespace: world.home, name: 'orders' },
      { spec: { replicas: 2 } },
    )
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('WaitingForWorkload')
  })

  it('keeps the password that it made, whatever happens to the Cluster', async () => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    const read = async () =>
      (await world.bench.find<KubeObject & { data: Record<string, string> }>(secret, 'relcowner-orders', world.home))
        ?.data.password
    expect(Buffer.from((await read()) ?? '', 'base64').toString()).to.equal('made-once')
    await world.bench.client.remove(postgresqlCluster, { namespace: world.home, name: 'relc-orders' })
    await world.bench.rest()
    expect(Buffer.from((await read()) ?? '', 'base64').toString()).to.equal('made-once')
    expect(await world.bench.find(postgresqlCluster, 'relc-orders', world.home)).to.not.equal(undefined)
  })

  it('makes another password where its Secret was deleted, which is how a leaked one is replaced', async () => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    const read = async () =>
      (await world.bench.find<KubeObject & { data: Record<string, string> }>(secret, 'relcowner-orders', world.home))
        ?.data.password
    const former = await read()
    await world.bench.client.remove(secret, { namespace: world.home, name: 'relcowner-orders' })
    await world.bench.rest()
    expect(await read())
      .to.be.a('string')
      .and.not.equal(former)
  })

  const archiving = (status: string, message: string) => [
    { type: 'ContinuousArchiving', status, message, lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]
  const shown: [string, object, object, string, string][] = [
    ['is running when the engine is healthy', {}, {}, 'Running', 'Available'],
    [
      'says that the archive fails',
      {},
      { conditions: archiving('False', 'no bucket') },
      'Degraded',
      'ArchivingFailing',
    ],
    [
      'says that the last backup failed',
      {},
      { conditions: [{ type: 'LastBackupSucceeded', status: 'False', message: 'no room' }] },
      'Degraded',
      'BackupFailing',
    ],
    [
      'says that the engine gave up',
      {},
      { phase: 'Not enough disk space', readyInstances: 0 },
      'Failed',
      'EngineRefused',
    ],
    ['waits for the address of a load balancer', { enableLoadBalancer: true }, {}, 'Provisioning', 'WaitingForAddress'],
  ]
  for (const [name, spec, engine, status, phase] of shown) {
    it(name, async () => {
      await begin()
      world.database('orders', spec)
      await world.bench.rest()
      await world.play('orders', engine)
      const found = await world.status('orders')
      expect([found.status, found.phase], String(found.statusMessage)).to.deep.equal([status, phase])
    })
  }

  it('tells the lost instance of a database that was complete from one that is being added', async () => {
    await begin()
    world.database('orders', { replicas: 2 })
    await world.bench.rest()
    await world.play('orders')
    await world.play('orders', { phase: 'Failing over', readyInstances: 1 })
    expect((await world.status('orders')).phase).to.equal('PartiallyAvailable')
    await world.change('orders', { replicas: 3 })
    expect((await world.status('orders')).phase).to.equal('Scaling')
  })

  const stalled: [string, object, string][] = [
    ['an unknown plan', { computePlan: 'nothing' }, 'PlanNotFound'],
    ['a plan of another family', { computePlan: 'vector-dev' }, 'PlanNotFound'],
    ['an image of its own', { imageName: 'example.org/pg:1' }, 'ConfigurationInvalid'],
    ['a database to connect to that is not there', { connectTo: 'nobody' }, 'ReferenceMissing'],
    ['a snapshot that is not there', { restoreFrom: { clusterName: 'a', snapshotId: SNAPSHOT } }, 'ReferenceMissing'],
    [
      'a snapshot of another group that nobody approved',
      { restoreFrom: { clusterName: 'a', snapshotId: SNAPSHOT, resourceGroup: 'other' } },
      'ReferenceMissing',
    ],
  ]
  for (const [name, spec, phase] of stalled) {
    it(`stops at ${name}`, async () => {
      await begin()
      world.database('orders', spec)
      await world.bench.rest()
      expect((await world.status('orders')).phase).to.equal(phase)
      expect(await world.bench.find(postgresqlCluster, 'relc-orders', world.home)).to.equal(undefined)
    })
  }

  it('is restarted when the engine has restarted each instance, and not while it has not begun', async () => {
    await begin()
    world.database('orders')
    await world.bench.rest()
    const instance = (restartedAt?: string) =>
      world.bench.client.seed(pod, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: 'relc-orders-1',
          namespace: world.home,
          labels: { 'cnpg.io/cluster': 'relc-orders', 'cnpg.io/podRole': 'instance' },
          annotations: restartedAt === undefined ? {} : { 'kubectl.kubernetes.io/restartedAt': restartedAt },
        },
      })
    instance()
    await world.play('orders')
    const seen = async () => {
      await world.bench.rest()
      const { status, phase, restartedAt } = await world.status('orders')
      return [status, phase, restartedAt]
    }
    expect(await seen()).to.deep.equal(['Running', 'Available', undefined])
    const restartedAt = '2026-11-02T08:00:00Z'
    await world.change('orders', { restartedAt })
    expect(await seen()).to.deep.equal(['Updating', 'Restarting', undefined])
    await world.play('orders', { phase: 'Primary instance is being restarted without a switchover' })
    instance(restartedAt)
    await world.play('orders')
    expect(await seen()).to.deep.equal(['Running', 'Available', restartedAt])
  })

  it('stops at a plan that is no longer offered, and leaves it to whoever has it', async () => {
    await begin()
    world.database('orders', { computePlan: 'relational-small' })
    await world.bench.rest()
    await world.bench.client.mergePatch(
      ComputePlan.resource,
      { name: 'relational-small' },
      { spec: { deprecated: true } },
    )
    world.database('late', { computePlan: 'relational-small' })
    await world.change('orders', { tags: { a: 'b' } })
    expect((await world.status('late')).phase).to.equal('PlanNotFound')
    expect((await world.status('late')).statusMessage).to.contain('no longer offered')
    expect((await world.status('orders')).phase).to.equal('WaitingForWorkload')
    await world.change('orders', { computePlan: 'relational-medium' })
    await world.change('orders', { computePlan: 'relational-small' })
    expect((await world.status('orders')).phase).to.equal('PlanNotFound')
  })

  it('stops where backups are wanted and there is no target', async () => {
    world = await new RelationalWorld().start()
    world.database('orders', { backupEnabled: true })
    world.database('plain')
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('ConfigurationInvalid')
    expect((await world.status('plain')).archiving).to.equal('Disabled')
    expect(await world.bench.find(barmanObjectStore, 'relcbackup-plain', world.home)).to.equal(undefined)
  })

  it('never adopts a Cluster of somebody else', async () => {
    await begin()
    world.bench.client.seed(postgresqlCluster, {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      metadata: { name: 'relc-orders', namespace: world.home },
      spec: { instances: 1 },
    })
    world.database('orders')
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('NameOccupied')
  })

  it('leads connections back that led to a database which goes', async () => {
    await begin()
    world.database('heir')
    world.database('orders', { connectTo: 'heir', running: false })
    await world.bench.rest()
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'heir' })
    await world.bench.rest()
    const found = await world.bench.find<KubeObject & { spec: { connectTo?: string; selector?: object } }>(
      RelationalCluster.resource,
      'orders',
      world.home,
    )
    expect(found?.spec.connectTo).to.equal(undefined)
    const address = await world.bench.find<KubeObject & { spec: { selector?: object } }>(
      service,
      'relcrw-orders',
      world.home,
    )
    expect(address?.spec.selector).to.include({ 'cnpg.io/cluster': 'relc-orders' })
  })

  describe('with a last snapshot', () => {
    const snapshots = async () => (await world.bench.client.list(RelationalSnapshot.resource)).items
    const remove = async () => {
      await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
      await world.bench.rest()
    }
    beforeEach(async () => {
      await begin()
      world.database('orders', { finalSnapshotOnDelete: true })
      await world.bench.rest()
      await world.play('orders')
    })

    it('starts for it where it was stopped', async () => {
      await world.change('orders', { running: false })
      await world.play('orders', { readyInstances: 0 })
      await remove()
      expect(await snapshots()).to.deep.equal([])
      const engine = await world.bench.find(postgresqlCluster, 'relc-orders', world.home)
      expect(engine?.metadata.annotations?.['cnpg.io/hibernation']).to.equal('off')
      await world.play('orders')
      expect((await snapshots()).map(({ spec }) => (spec as { kind: string }).kind)).to.deep.equal(['Final'])
      const backups = (await world.bench.client.list(postgresqlBackup)).items
      expect(backups).to.have.length(1)
    })

    it('takes another one only after a while where somebody deletes it', async () => {
      await remove()
      for (let round = 0; round < 5; round += 1) {
        for (const { metadata } of await snapshots())
          await world.bench.client.remove(RelationalSnapshot.resource, metadata)
        await world.bench.rest()
      }
      expect(await snapshots()).to.deep.equal([])
      expect((await world.status('orders')).statusMessage).to.match(
        /^The last snapshot was deleted before it was complete; another is taken at /,
      )
      await world.bench.clock.advance(11 * 60_000)
      await world.bench.rest()
      expect(await snapshots()).to.have.length(1)
    })
  })

  it('goes with its snapshots, or leaves them and a last one', async () => {
    await begin()
    world.database('orders', { onDelete: 'Retain' })
    await world.bench.rest()
    await world.play('orders')
    const ref = { namespace: world.home, name: 'orders' }
    await world.bench.client.remove(RelationalCluster.resource, ref)
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('BackingUp')
    const [last] = (await world.bench.client.list(RelationalSnapshot.resource)).items
    const backup = { namespace: world.home, name: `rsnap-${last?.metadata.name}` }
    const status = { phase: 'completed', stoppedAt: '2026-01-01T00:01:00Z' }
    await world.bench.client.mergePatch(postgresqlBackup, backup, { status }, { subresource: 'status' })
    await world.bench.rest()
    expect(await world.bench.find(RelationalCluster.resource, 'orders', world.home)).to.equal(undefined)
    expect(await world.bench.find(postgresqlCluster, 'relc-orders', world.home)).to.equal(undefined)
    expect(await world.bench.find(RelationalSnapshot.resource, last?.metadata.name ?? '', world.home)).to.not.equal(
      undefined,
    )
  })
})
