import { expect } from 'chai'
import { makeVaults } from '../../../test/make/vaults.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { entryName, valueNames } from '../../contracts/vaults/names.ts'
import { groupNamespace } from '../../core/names.ts'
import { SecretVault } from '../../crds/vaults.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const TOKEN = `/boundaries/${B}/resourcegroups/shop/resources/secretvaults/orders/secrets/token`

describe('PUT /secretvaults/{name}/secrets/{secret}', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let vaults: ReturnType<typeof makeVaults>
  beforeEach(async () => {
    vaults = makeVaults()
    server = await startShop({}, { vaults })
    server.put(SecretVault, 'orders', {}, NAMESPACE)
  })
  afterEach(() => server.stop())

  it('uses no version number and stores nothing for 60 requests whose If-Match does not match', async () => {
    const first = await server.ask('put', TOKEN).send({ value: 'one' })
    expect(
      (
        await server
          .ask('put', TOKEN)
          .set('if-match', first.headers.etag ?? '')
          .send({ value: 'two' })
      ).status,
    ).to.equal(200)
    for (let attempt = 0; attempt < 60; attempt += 1) {
      const { status } = await server
        .ask('put', TOKEN)
        .set('if-match', first.headers.etag ?? '')
        .send({ value: 'late' })
      expect(status).to.equal(409)
    }
    const { status, body } = await server.ask('put', TOKEN).send({ value: 'three' })
    expect([status, body.version]).to.deep.equal([200, 3])
  })

  it('sets the secret after 61 writers died before they listed their version numbers', async () => {
    await server.ask('put', TOKEN).send({ value: 'one' })
    const entry = entryName('orders', 'token')
    const names = valueNames(entry, 1)
    for (let version = 2; version <= 62; version += 1) {
      const metadata = { name: names.version(version), namespace: NAMESPACE }
      await vaults.values.create({ apiVersion: 'v1', kind: 'Secret', metadata, data: {} })
    }
    const { status, body } = await server.ask('put', TOKEN).send({ value: 'two' })
    expect([status, body.version]).to.deep.equal([200, 63])
  })
})
