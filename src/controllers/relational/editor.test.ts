import { expect } from 'chai'
import { RelationalWorld } from '../../../test/worlds/relationalWorld.ts'
import { type LoginNames, SqlFault, type SqlTarget } from '../../adapters/sql/port.ts'
import type { KubeObject } from '../../core/object.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { secret } from '../../kube/builtin.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'

describe('editor logins of a relational database', () => {
  let world: RelationalWorld
  let asked: { target: SqlTarget; logins: LoginNames }[]
  let fault: SqlFault | undefined

  beforeEach(async () => {
    asked = []
    fault = undefined
    const admit = async (target: SqlTarget, logins: LoginNames) => {
      asked.push({ target, logins })
      if (fault !== undefined) throw fault
    }
    world = await new RelationalWorld({ engine: { admit } }).start()
  })
  afterEach(() => world.bench.stop())

  const secretNamed = (name: string) =>
    world.bench.find<KubeObject & { data: Record<string, string> }>(secret, name, world.home)
  const login = async (name: string) => {
    const data = (await secretNamed(name))?.data ?? {}
    return ['username', 'password'].map((entry) => Buffer.from(data[entry] ?? '', 'base64').toString())
  }
  const running = async (spec: object = {}) => {
    world.database('orders', spec)
    await world.bench.rest()
    await world.play('orders')
  }

  it('have different passwords that survive a recreated Cluster', async () => {
    await running()
    const logins = await Promise.all(['relcowner', 'relcwriter', 'relcreader'].map((stem) => login(`${stem}-orders`)))
    expect(logins.map(([username]) => username)).to.deep.equal(['app', 'app_writer', 'app_reader'])
    expect(new Set(logins.map(([, password]) => password)).size).to.equal(3)
    await world.bench.client.remove(postgresqlCluster, { namespace: world.home, name: 'relc-orders' })
    await world.bench.rest()
    expect(await login('relcreader-orders')).to.deep.equal(logins[2])
  })

  it('are granted by the owner once when the engine is healthy', async () => {
    world.database('orders', { databaseName: 'sales', ownerName: 'seller' })
    await world.bench.rest()
    expect(asked).to.deep.equal([])
    await world.play('orders')
    await world.play('orders', { phaseReason: 'again' })
    const [, password = ''] = await login('relcowner-orders')
    expect(asked).to.deep.equal([
      {
        target: {
          dialect: 'postgresql',
          host: `relc-orders-rw.${world.home}.svc`,
          port: 5432,
          database: 'sales',
          user: 'seller',
          password,
          // The certificate authority does not exist yet; the fake ignores it.
          certificateAuthority: '',
        },
        logins: { reader: 'app_reader', writer: 'app_writer' },
      },
    ])
  })

  it('use the certificate authority of the engine', async () => {
    world.bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'relc-orders-ca', namespace: world.home },
      data: { 'ca.crt': Buffer.from('PEM').toString('base64') },
    })
    await running()
    expect(asked[0]?.target.certificateAuthority).to.equal('PEM')
  })

  it('are retried every 5 seconds until the engine has created them, while the database is Running', async () => {
    fault = new SqlFault('Failed', 'The engine rejected it (42704).', { engineCode: '42704' })
    await running()
    expect((await world.status('orders')).status).to.equal('Running')
    const later = async (milliseconds: number) => {
      const before = asked.length
      await world.bench.clock.advance(milliseconds)
      await world.bench.rest()
      return asked.length - before
    }
    expect(asked.length).to.be.greaterThan(0)
    expect([await later(4_000), await later(1_000), await later(5_000)]).to.deep.equal([0, 1, 1])
    fault = undefined
    expect([await later(5_000), await later(60_000)]).to.deep.equal([1, 0])
  })

  it('are granted again after the Cluster was recreated', async () => {
    await running()
    await world.bench.client.remove(postgresqlCluster, { namespace: world.home, name: 'relc-orders' })
    await world.bench.rest()
    await world.play('orders')
    expect(asked).to.have.length(2)
  })

  it('are not granted in a stopped database', async () => {
    await running({ running: false })
    expect(asked).to.deep.equal([])
  })

  it('are deleted with the database', async () => {
    await running({ backupEnabled: false })
    await world.bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await world.bench.rest()
    for (const stem of ['relcowner', 'relcwriter', 'relcreader'])
      expect(await secretNamed(`${stem}-orders`), stem).to.equal(undefined)
  })
})
