import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { MAX_SECRET_VALUE_BYTES, newHistory, VERSIONS_KEPT } from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { groupNamespace } from '../../core/names.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const SECRETS = `/boundaries/${B}/resourcegroups/shop/resources/secretvaults/orders/secrets`
const rules = { softDeleteEnabled: true, softDeleteRetentionDays: 30, enablePurgeProtection: false }

describe('secrets over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(SecretVault, 'orders', {}, NAMESPACE)
  })
  afterEach(() => server.stop())

  describe('of a boundary', () => {
    const set = async (name: string, value: string) => {
      const { status, body } = await server.ask('put', `${SECRETS}/${name}`).send({ value })
      return [status, body.code, body.quota]
    }
    /** A secret with the most versions, each with the largest value. */
    const fill = (secretName: string, count = VERSIONS_KEPT) => {
      const versions = [...Array(count).keys()].map((at) => ({
        ...{ version: at + 1, enabled: true, createdAt: '2026-01-01T00:00:00Z', bytes: MAX_SECRET_VALUE_BYTES },
      }))
      const history = { ...newHistory(rules), versions, lastVersion: count }
      server.put(VaultEntry, entryName('orders', secretName), { vaultName: 'orders', secretName, history }, NAMESPACE)
    }

    it('take at most 64 MiB with all their versions', async () => {
      for (let at = 0; at < 10; at += 1) fill(`full-${at}`)
      expect(await set('first', 'x')).to.deep.equal([200, undefined, undefined])
      fill('full-10', 23)
      expect(await set('second', 'x'.repeat(65_536))).to.deep.equal([422, 'QUOTA_EXCEEDED', 'secretValues'])
      const { items } = await server.client.list(VaultEntry.resource, { namespace: NAMESPACE })
      expect(
        items.map(({ metadata }) => metadata.name),
        'nothing is stored',
      ).to.not.include(entryName('orders', 'second'))
    })

    it('can be replaced where a value takes the place of an older one', async () => {
      for (let at = 0; at < 11; at += 1) fill(`full-${at}`)
      expect(await set('full-3', 'x'.repeat(65_536))).to.deep.equal([200, undefined, undefined])
    })

    it('count as they were stored', async () => {
      await set('first', 'é'.repeat(2_000))
      const { items } = await server.client.list<VaultEntry & { metadata: { name: string } }>(VaultEntry.resource, {
        namespace: NAMESPACE,
      })
      expect(items[0]?.spec.history?.versions[0]?.bytes).to.equal(4_000)
    })
  })

  describe('without a value', () => {
    const TOKEN = `${SECRETS}/token`
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
})
