import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import type { SqlEngine } from '../../adapters/sql/port.ts'
import { decodePasswords, sqlNames } from '../../contracts/sql.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type SecretObject, secretData } from '../../core/secretData.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { persistentVolumeClaim, secret } from '../../kube/builtin.ts'

describe('passwords of a SqlInstance', () => {
  const logins = sqlNames('books').logins
  const prepared: { admin: string; owner: string }[] = []
  const prepare: SqlEngine['prepare'] = async (target, { logins: { owner } }) => {
    prepared.push({ admin: target.password, owner: owner.password })
  }
  let world: StatefulWorld

  beforeEach(async () => {
    prepared.length = 0
    world = await new StatefulWorld({ prepare }).start()
    await world.create(SqlInstance, 'books', { engine: 'MariaDb' })
  })
  afterEach(() => world.stop())

  const lose = async () => {
    await world.bench.client.remove(secret, { namespace: world.home, name: logins })
    await world.converge()
  }
  const later = async () => {
    await world.bench.clock.advance(60_000)
    await world.converge()
  }

  it('are not regenerated beside a volume, and the restored admin password is used', async () => {
    const before = await world.find<SecretObject>(secret, logins)
    await lose()
    expect(await world.says(SqlInstance, 'books')).to.match(/^\w+ ReferenceMissing: .*"sqli-books-logins"/)
    expect(await world.find(secret, logins)).to.equal(undefined)

    const { annotations = {} } = (await world.find(SqlInstance.resource, 'books'))?.metadata ?? {}
    const annotation = { [OWNER_INCARNATION_ANNOTATION]: annotations[INCARNATION_ANNOTATION] ?? '' }
    const metadata = { namespace: world.home, name: logins, annotations: annotation }
    const data = secretData({ 'admin-password': decodePasswords(before?.data)?.admin ?? '' })
    await world.bench.client.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data } as SecretObject)
    await later()
    expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
    expect(prepared.at(-1)?.admin).to.equal('made-1')
    expect(prepared.at(-1)?.owner, 'the others are made').to.not.equal(prepared[0]?.owner)
  })

  it('are regenerated if the volume is deleted too', async () => {
    await world.change(SqlInstance, 'books', { running: false })
    const claim = `storage-sqli-books-0`
    await world.bench.client.remove(persistentVolumeClaim, { namespace: world.home, name: claim })
    await lose()
    await world.change(SqlInstance, 'books', { running: true })
    expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
    expect(prepared.at(-1)?.admin).to.equal('made-5')
  })
})
