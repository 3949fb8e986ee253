import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld, SNAPSHOT } from '../../../test/worlds/relationalWorld.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { customResourceDefinition, pod, secret, service } from '../../kube/builtin.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'

describe('RelationalCluster controller', () => {
  let world: RelationalWorld
  const begin = async (...engine: Parameters<RelationalWorld['start']>) => {
    world = await new RelationalWorld({ target: TARGET }).start(...engine)
    return world
  }
  afterEach(() => world.bench.stop())

  it('reports EngineMissing without further requests and continues after the installation', async () => {
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

  it('deletes databases and snapshots of a cluster without the engine', async () => {
    await begin('none')
    world.database('orders', { finalSnapshotOnDelete: true })
    await world.snapshot('orders')
    await world.bench.rest()
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await world.bench.rest()
    expect(await world.bench.find(RelationalCluster.resource, 'orders', world.home)).to.equal(undefined)
    expect((await world.bench.client.list(RelationalSnapshot.resource)).items).to.deep.equal([])
  })

  it('reports a missing backup plugin only for a database with backups', async () => {
    await begin('no plugin')
    world.database('plain', { backupEnabled: false })
    world.database('orders')
    await world.bench.rest()
    expect((await world.status('orders')).statusMessage).to.contain('Barman Cloud plugin')
    expect((await world.status('plain')).phase).to.equal('WaitingForWorkload')
  })

  it('fills in the replicas of the plan and writes nothing for an equal status of the engine', async () => {
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

  it('fills in the replicas although another rule rejects the spec', async () => {
    await begin()
    world.database('orders', { computePlan: 'relational-medium', databaseName: 'postgres' })
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('WaitingForWorkload')
  })

  it('rejects a spec that contradicts the replicas of the plan with the message of the rule', async () => {
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

  it('keeps its generated password when the Cluster is deleted', async () => {
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

  it('generates a new password when the Secret is deleted, as after a leak', async () => {
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
    ['reports Running for a healthy engine', {}, {}, 'Running', 'Available'],
    [
      'reports ArchivingFailing for a failing archive',
      {},
      { conditions: archiving('False', 'no bucket') },
      'Degraded',
      'ArchivingFailing',
    ],
    [
      'reports BackupFailing after a failed backup',
      {},
      { conditions: [{ type: 'LastBackupSucceeded', status: 'False', message: 'no room' }] },
      'Degraded',
      'BackupFailing',
    ],
    [
      'reports EngineRefused when the engine gave up',
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

  it('reports PartiallyAvailable for a lost instance and Scaling for an added one', async () => {
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
    ['an image that is not allowed', { imageName: 'example.org/pg:1' }, 'ConfigurationInvalid'],
    ['a missing database in connectTo', { connectTo: 'nobody' }, 'ReferenceMissing'],
    ['a missing snapshot', { restoreFrom: { clusterName: 'a', snapshotId: SNAPSHOT } }, 'ReferenceMissing'],
    [
      'an unapproved snapshot of another group',
      { restoreFrom: { clusterName: 'a', snapshotId: SNAPSHOT, resourceGroup: 'other' } },
      'ReferenceMissing',
    ],
  ]
  for (const [name, spec, phase] of stalled) {
    it(`creates no Cluster for ${name}`, async () => {
      await begin()
      world.database('orders', spec)
      await world.bench.rest()
      expect((await world.status('orders')).phase).to.equal(phase)
      expect(await world.bench.find(postgresqlCluster, 'relc-orders', world.home)).to.equal(undefined)
    })
  }

  it('reports Restarting until the engine has restarted each instance', async () => {
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

  it('rejects a deprecated plan except for a database that already uses it', async () => {
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

  it('rejects backupEnabled without a backup target', async () => {
    world = await new RelationalWorld().start()
    world.database('orders', { backupEnabled: true })
    world.database('plain')
    await world.bench.rest()
    expect((await world.status('orders')).phase).to.equal('ConfigurationInvalid')
    expect((await world.status('plain')).archiving).to.equal('Disabled')
    expect(await world.bench.find(barmanObjectStore, 'relcbackup-plain', world.home)).to.equal(undefined)
  })

  it('never adopts a foreign Cluster', async () => {
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

  it('removes connectTo when that database is deleted', async () => {
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

  describe('with finalSnapshotOnDelete', () => {
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

    it('starts a stopped database for its final snapshot', async () => {
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

    it('never deletes an engine that it cannot see without the snapshot', async () => {
      const name = 'clusters.postgresql.cnpg.io'
      const establish = (status: string) =>
        world.bench.client.edit(customResourceDefinition, { name }, (definition) => {
          definition.status = { conditions: [{ type: 'Established', status }] }
        })
      establish('False')
      await world.bench.rest()
      await remove()
      expect(await world.bench.find(postgresqlCluster, 'relc-orders', world.home)).to.not.equal(undefined)
      establish('True')
      await world.bench.rest()
      expect(await snapshots()).to.have.length(1)
    })

    it('waits while the archive is suspended', async () => {
      await world.change('orders', { archivingSuspended: true })
      await remove()
      const { statusMessage } = await world.status('orders')
      expect(statusMessage).to.contain('A final snapshot is requested, but its archive is suspended.')
    })

    it('retakes a deleted final snapshot only after a delay', async () => {
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

  it('takes a final snapshot with onDelete Retain, then deletes only the database', async () => {
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
