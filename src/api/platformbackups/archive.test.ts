import { expect } from 'chai'
import { hoursAgo, PlatformBackupsWorld } from '../../../test/worlds/platformBackups.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { barmanObjectStore, postgresqlCluster } from '../../kube/postgresql.ts'

describe('archives over REST', () => {
  let world: PlatformBackupsWorld
  beforeEach(async () => {
    world = await PlatformBackupsWorld.start()
  })
  afterEach(() => world.facade.stop())

  describe('suspension of an archive', () => {
    const place = { namespace: 'shop', name: 'orders' }
    const database = (condition = 'False', annotations: object = {}, archives = true) => {
      const parameters = { barmanObjectName: 'store', serverName: 'orders-1' }
      const plugins = [{ name: 'barman-cloud.cloudnative-pg.io', isWALArchiver: true, parameters }]
      const conditions = [{ type: 'ContinuousArchiving', status: condition, message: 'no\nbucket' }]
      const fields = { spec: archives ? { plugins } : {}, status: { conditions } }
      world.seed(postgresqlCluster, 'orders', fields, { annotations }, 'shop')
    }
    const valve = (verb: string, body: object = place) => world.call('post', `/archiving/${verb}`, body)

    const refusals: [string, string, () => void, object, number, string][] = [
      ['suspend', 'a database with an empty name', () => {}, { namespace: 'shop', name: '' }, 400, 'invalid-cluster'],
      ['resume', 'a database without a namespace', () => {}, { name: 'orders' }, 400, 'invalid-cluster'],
      ['suspend', 'an unknown database', () => {}, place, 404, 'cluster-not-found'],
      [
        'resume',
        'a database in an invalid namespace',
        () => database(),
        { namespace: '../x', name: 'orders' },
        404,
        'cluster-not-found',
      ],
      [
        'suspend',
        'a database without an archive',
        () => database('False', {}, false),
        place,
        409,
        'archiving-not-configured',
      ],
      ['suspend', 'a database with a healthy archive', () => database('True'), place, 409, 'archiving-healthy'],
      ['resume', 'a database that was never suspended', () => database(), place, 409, 'archiving-not-suspended'],
      [
        'resume',
        'a database that its own resource suspended',
        () => database('False', { 'cnpg.io/skipWalArchiving': 'enabled' }),
        ...([place, 409, 'archiving-not-suspended'] as const),
      ],
    ]
    for (const [verb, title, given, body, status, code] of refusals) {
      it(`rejects ${verb} of ${title}`, async () => {
        given()
        const answer = await valve(verb, body)
        expect([answer.status, answer.code]).to.deep.equal([status, code])
        expect((await world.stored()).spec.suspendedArchives).to.deep.equal([])
      })
    }

    it('suspends a database only from 100 waiting WAL files on, if these are measured', async () => {
      database()
      world.figures.set('shop/orders', { readyCount: 12, volumePercent: 3.5 })
      expect((await valve('suspend')).code).to.equal('archiving-healthy')
      world.figures.set('shop/orders', { readyCount: 100, volumePercent: 3.5 })
      const { body } = await valve('suspend')
      expect(body).to.include({
        archiving: 'Suspended',
        walReadyCount: 100,
        walVolumePercent: 3.5,
        suspendedBy: world.owner,
      })
    })

    it('suspends a database once, and resumes it', async () => {
      database()
      world.seed(
        barmanObjectStore,
        'store',
        { status: { serverRecoveryWindow: { 'orders-1': { firstRecoverabilityPoint: hoursAgo(9) } } } },
        {},
        'shop',
      )
      const { status, body } = await valve('suspend')
      expect([status, body.archiving, body.message]).to.deep.equal([200, 'Suspended', 'no bucket'])
      expect(body.firstRecoverableAt).to.not.equal(null)
      expect((await valve('suspend')).code).to.equal('archiving-healthy')
      expect((await world.stored()).spec.suspendedArchives).to.have.length(1)
      expect((await valve('resume')).body).to.include({ archiving: 'ResumePending', suspendedBy: null })
      expect((await world.stored()).spec.suspendedArchives).to.deep.equal([])
    })

    it('ignores the suspension of an earlier database of the same name', async () => {
      database()
      const spec = { suspendedArchives: [{ ...place, suspendedAt: hoursAgo(9) }] }
      const ref = { namespace: SYSTEM_NAMESPACE, name: 'default' }
      await world.facade.client.mergePatch(PlatformBackupSettings.resource, ref, { spec })
      expect((await valve('resume')).code).to.equal('archiving-not-suspended')
      expect((await valve('suspend')).body).to.include({ archiving: 'Suspended' })
      expect((await world.stored()).spec.suspendedArchives).to.have.length(1)
    })

    it('drops suspensions of deleted databases when it writes another one', async () => {
      database()
      const [deleted, existing] = ['gone', 'kept'].map((name) => ({ ...place, name, suspendedAt: hoursAgo(-9) }))
      world.seed(postgresqlCluster, 'kept', { spec: {} }, {}, place.namespace)
      const ref = { namespace: SYSTEM_NAMESPACE, name: 'default' }
      const spec = { suspendedArchives: [deleted, existing] }
      await world.facade.client.mergePatch(PlatformBackupSettings.resource, ref, { spec })
      const names = async () => (await world.stored()).spec.suspendedArchives.map(({ name }) => name)
      await valve('suspend')
      expect(await names()).to.deep.equal(['kept', 'orders'])
    })

    it('resumes again while the resumption is pending', async () => {
      database('False', { 'freehold.dev/archiving-resumed': hoursAgo(1) })
      expect((await valve('resume')).body).to.include({ archiving: 'ResumePending' })
    })

    it('is part of the conditions of the backups', async () => {
      database()
      world.schedule()
      const { body } = await world.call('get', '/conditions', undefined, world.reader)
      expect(body.overall).to.equal('Failing')
      expect(body.databases.map(({ name, archiving }: Record<string, string>) => [name, archiving])).to.deep.equal([
        ['orders', 'Pressure'],
      ])
      expect(body.conditions.map(({ type }: { type: string }) => type)).to.include.members([
        'CrdsMatch',
        'RestoreTested',
      ])
    })
  })
})
