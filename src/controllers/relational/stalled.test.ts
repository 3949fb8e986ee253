import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld } from '../../../test/worlds/relationalWorld.ts'
import { relationalNames } from '../../contracts/relational.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { type SecretObject, secretData, secretText } from '../../core/secretData.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { LOGINS } from '../../desired/relational/index.ts'
import { secret } from '../../kube/builtin.ts'
import { postgresqlBackup } from '../../kube/postgresql.ts'

describe('stalled RelationalCluster', () => {
  let world: RelationalWorld
  beforeEach(async () => {
    world = await new RelationalWorld({ target: TARGET }).start()
    world.database('orders')
    await world.bench.rest()
    await world.play('orders')
    await world.change('orders', { computePlan: 'gone' })
    expect((await world.status('orders')).status).to.equal('Degraded')
  })
  afterEach(() => world.bench.stop())

  it('updates the copied credentials of the backup target', async () => {
    world.bench.client.edit<SecretObject>(
      secret,
      { namespace: SYSTEM_NAMESPACE, name: 'freehold-backup-target' },
      (object) => {
        object.data = secretData({ 'access-key-id': 'other', 'secret-access-key': 'key' })
      },
    )
    await world.play('orders', { phaseReason: 'the log cannot be archived' })
    const copy = await world.bench.find<SecretObject>(secret, relationalNames('orders').target, world.home)
    expect(secretText(copy?.data, 'access-key-id')).to.equal('other')
  })

  for (const [login, name] of LOGINS.map((each) => [each, relationalNames('orders')[each]] as const))
    it(`generates a new password if the Secret of ${login} is deleted`, async () => {
      const login = async () => {
        const { data } = (await world.bench.find<SecretObject>(secret, name, world.home)) ?? {}
        return [secretText(data, 'username'), secretText(data, 'password')]
      }
      const [username, leaked] = await login()
      await world.bench.client.remove(secret, { namespace: world.home, name })
      await world.bench.rest()
      const [user, password] = await login()
      expect(user).to.be.a('string').and.equal(username)
      expect(password).to.be.a('string').and.not.equal(leaked)
      expect((await world.status('orders')).phase).to.equal('PlanNotFound')
    })

  it('mirrors scheduled backups', async () => {
    world.bench.client.seed(postgresqlBackup, {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Backup',
      metadata: { name: 'nightly', namespace: world.home, labels: { 'cnpg.io/scheduled-backup': 'relcbackup-orders' } },
      spec: { cluster: { name: 'relc-orders' } },
    } as KubeObject)
    await world.bench.rest()
    const { items } = await world.bench.client.list(RelationalSnapshot.resource)
    expect(items.map(({ spec }) => (spec as { kind: string }).kind)).to.deep.equal(['Scheduled'])
  })

  it('reports archive problems and the current primary', async () => {
    const conditions = [{ type: 'ContinuousArchiving', status: 'False', message: 'the bucket is gone' }]
    await world.play('orders', { conditions, currentPrimary: 'relc-orders-2' })
    expect(await world.status('orders')).to.include({
      status: 'Degraded',
      archiving: 'Failing',
      archivingMessage: 'the bucket is gone',
      currentPrimary: 'relc-orders-2',
    })
  })
})
