import { expect } from 'chai'
import { makeVaults } from '../../../test/make/vaults.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { newHistory } from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { groupNamespace } from '../../core/names.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const TOKEN = `/boundaries/${B}/resourcegroups/shop/resources/secretvaults/orders/secrets/token`
const rules = { softDeleteEnabled: true, softDeleteRetentionDays: 30, enablePurgeProtection: false }

describe('secrets without a value over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop({}, { vaults: makeVaults() })
    server.put(SecretVault, 'orders', {}, NAMESPACE)
  })
  afterEach(() => server.stop())

  const put = (spec: object) =>
    server.put(
      VaultEntry,
      entryName('orders', 'token'),
      { vaultName: 'orders', secretName: 'token', ...spec },
      NAMESPACE,
    )
  const entries = async () => (await server.client.list(VaultEntry.resource, { namespace: NAMESPACE })).items

  for (const [sentence, spec] of [
    ['whose value REST could not store', { history: newHistory(rules) }],
    ['whose Secret of valueFrom does not exist', { valueFrom: { secretName: 'nowhere', key: 'value' } }],
    ['whose state was set to Deleted with kubectl', { state: 'Deleted' }],
  ] as const) {
    it(`deletes a secret ${sentence}`, async () => {
      put(spec)
      expect((await server.ask('get', TOKEN)).status).to.equal(404)
      expect((await server.ask('delete', TOKEN)).status).to.equal(204)
      expect(await entries()).to.deep.equal([])
      expect((await server.ask('delete', TOKEN)).status).to.equal(404)
    })

    it(`sets a secret ${sentence}`, async () => {
      put(spec)
      const { status, body } = await server.ask('put', TOKEN).send({ value: 'one' })
      expect([status, body.version], JSON.stringify(body)).to.deep.equal([200, 1])
      expect((await server.ask('get', TOKEN)).body.value).to.equal('one')
    })
  }

  it('returns 403 for the deletion by a caller who may not write secrets', async () => {
    put({})
    const reader = '6f7c1f5e-1111-4c52-9d5c-000000000001'
    server.grant(reader, 'Reader', `/boundaries/${B}`)
    expect((await server.ask('delete', TOKEN, reader)).status).to.equal(403)
  })
})
