import { expect } from 'chai'
import { valueNames } from '../../src/contracts/vaults/names.ts'
import { valueSelector } from '../../src/contracts/vaults/valueSecret.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { VaultEntry } from '../../src/crds/vaults.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import {
  call,
  type ErrorBody,
  expectCall,
  itemsOf,
  type Method,
  makeCaller,
  makeGroupPlace,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { canary, makeVault, type SecretBody, type VaultPlace } from '../worlds/vaultWorld.ts'

const codeOf = async (method: Method, path: string, body?: unknown, token?: string) => {
  const answer = await call<ErrorBody>(method, path, body, token === undefined ? {} : { token })
  return `${answer.status} ${answer.body?.code ?? ''}`.trim()
}

describe('secret vaults', () => {
  let admin: KubeClient
  let place: { boundaryId: string; group: string; namespace: string }
  before(async () => {
    admin = await administrator()
    place = await makeGroupPlace()
  })
  after(() => admin.close())

  const put = async (at: VaultPlace, name: string, value: string, more: object = {}) =>
    (await expectCall<SecretBody>(200, 'PUT', at.secret(name), { value, ...more })).body
  const read = async (at: VaultPlace, name: string) => (await expectCall<SecretBody>(200, 'GET', at.secret(name))).body

  describe('vaults', () => {
    it('creates, replaces, patches, lists and deletes vaults', async () => {
      const at = await makeVault({ tags: { team: 'x' } }, place)
      type Vault = Record<string, unknown>
      const { body } = await expectCall<Vault>(200, 'GET', at.path)
      expect(body).to.include({
        name: at.vault,
        collection: 'secretvaults',
        softDeleteEnabled: true,
        softDeleteRetentionDays: 30,
        enablePurgeProtection: false,
        secretCount: 0,
        status: 'Running',
      })
      expect(body.vaultUri).to.match(new RegExp(`^http.*/vaults/${at.vault}$`))
      expect(body).not.to.have.property('statusMessage')
      await expectCall(200, 'POST', at.path, { tags: { team: 'x' } })
      expect(await codeOf('POST', at.path, { tags: { team: 'y' } })).to.equal('409 ALREADY_EXISTS')
      await expectCall(200, 'PUT', at.path, body)
      await expectCall(200, 'PATCH', at.path, { enablePurgeProtection: true })
      expect(await codeOf('PATCH', at.path, { enablePurgeProtection: false })).to.equal('422 PURGE_PROTECTED')
      expect(await codeOf('PATCH', at.path, { softDeleteEnabled: false })).to.match(/^422 SOFT_DELETE_REQUIRED/)
      expect(await codeOf('PATCH', at.path, { softDeleteRetentionDays: 7 })).to.equal('400 BAD_REQUEST')
      expect(await codeOf('POST', `${at.path}-x`, { softDeleteRetentionDays: 6 })).to.equal('400 BAD_REQUEST')
      expect(await codeOf('POST', `${at.path}-x`, { nonsense: 1 })).to.equal('400 MODEL_BINDING_FAILED')
      expect(await codeOf('PUT', `${at.path}-x`, {})).to.equal('404 NOT_FOUND')
      const all = `/boundaries/${place.boundaryId}/resources/secretvaults`
      for (const list of [at.path.replace(`/${at.vault}`, ''), all]) {
        const found = await itemsOf<Vault>(`${list}?filter=enablePurgeProtection:eq:true&sort=secretCount`)
        expect(found.map(({ name }) => name)).to.include(at.vault)
        const config = await expectCall<{ filters: { field: string }[]; sorts: string[] }>(200, 'GET', `${list}/config`)
        expect(config.body.filters.map(({ field }) => field)).to.include.members([
          'softDeleteEnabled',
          'enablePurgeProtection',
        ])
        expect(config.body.sorts).to.include('secretCount')
      }
      expect((await call('DELETE', at.path)).status).to.be.oneOf([202, 204])
      await until('it is deleted', async () => (await call('GET', at.path)).status === 404)
      expect(await codeOf('DELETE', at.path)).to.equal('404 NOT_FOUND')
      // Its name is available again.
      await expectCall(201, 'POST', at.path, {})
    })

    it('returns 409 for a name in use, without its boundary, group or namespace', async () => {
      const at = await makeVault({}, place)
      const other = await makeGroupPlace()
      const path = `/boundaries/${other.boundaryId}/resourcegroups/${other.group}/resources/secretvaults/${at.vault}`
      const answer = await call<ErrorBody>('POST', path, {})
      expect(`${answer.status} ${answer.body.code}`).to.equal('409 VAULT_NAME_TAKEN')
      for (const word of [place.boundaryId, place.group, place.namespace]) expect(answer.text).not.to.contain(word)
    })

    it('gives a name to one of two concurrent requests', async () => {
      const other = await makeGroupPlace()
      const name = uniqueName('wanted')
      const paths = [place, other].map(
        ({ boundaryId, group }) => `/boundaries/${boundaryId}/resourcegroups/${group}/resources/secretvaults/${name}`,
      )
      const codes = await Promise.all(paths.map((path) => codeOf('POST', path, {})))
      expect(codes.sort()).to.deep.equal(['201', '409 VAULT_NAME_TAKEN'])
    })

    it('refuses to delete a vault under purge protection with secrets, and its group', async () => {
      const home = await makeGroupPlace()
      const at = await makeVault({ enablePurgeProtection: true }, home)
      await put(at, 'kept', 'x')
      expect(await codeOf('DELETE', at.path)).to.equal('409 DELETION_PROTECTED')
      await expectCall(200, 'DELETE', at.secret('kept'))
      expect(await codeOf('DELETE', at.path)).to.equal('409 DELETION_PROTECTED')
      const group = `/boundaries/${home.boundaryId}/resourcegroups/${home.group}`
      const refused = await call<ErrorBody & { resources: string[] }>('DELETE', group)
      expect(`${refused.status} ${refused.body.code}`).to.equal('409 DELETION_PROTECTED')
      expect(refused.body.resources).to.deep.equal([`secretvaults/${at.vault}`])
    })

    it('lists accessible vaults with the rights on their secrets', async () => {
      const at = await makeVault({}, place)
      await put(at, 'one', 'x')
      const list = `/boundaries/${place.boundaryId}/resources/secretvaults/accessible`
      const boundary = `/boundaries/${place.boundaryId}`
      const rowOf = async (roles: Record<string, string>) => {
        const { token } = await makeCaller(roles)
        const rows = await itemsOf<Record<string, unknown>>(list, { token })
        return rows.find(({ name }) => name === at.vault)
      }
      expect(await rowOf({ 'Secrets Reader': boundary })).to.include({ canRead: true, canWrite: false, secretCount: 1 })
      expect(await rowOf({ 'Secrets Officer': boundary })).to.include({ canRead: true, canWrite: true })
      expect(await rowOf({ Reader: boundary })).to.equal(undefined)
    })
  })

  describe('secrets', () => {
    let at: VaultPlace
    before(async () => {
      at = await makeVault({}, place)
    })

    it('writes versions, and reads them one by one', async () => {
      const [first, second] = [canary(), canary()]
      const made = await put(at, 'DbPassword', first, { contentType: 'text/plain', tags: { team: 'shop' } })
      expect(made).to.include({ name: 'DbPassword', version: 1, value: null, enabled: true, isDeleted: false })
      expect(made.uri).to.match(new RegExp(`/vaults/${at.vault}/secrets/DbPassword$`))
      await put(at, 'dbpassword', second)
      const answer = await expectCall<SecretBody>(200, 'GET', at.secret('DBPASSWORD'))
      expect(answer.body).to.include({ name: 'DbPassword', version: 2, value: second, contentType: null })
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      expect(answer.headers.get('etag')).to.match(/^"\d+-\d+-\w+"$/)
      const versions = await itemsOf<{ version: number; value: null; isCurrent: boolean }>(
        `${at.secret('dbpassword')}/versions?filter=name:exists:true`,
      )
      expect(versions.map(({ version, value, isCurrent }) => [version, value, isCurrent])).to.deep.equal([
        [2, null, true],
        [1, null, false],
      ])
      const old = await expectCall<Record<string, unknown>>(200, 'GET', `${at.secret('dbpassword')}/versions/1`)
      expect(old.body).to.include({ version: 1, value: first, contentType: 'text/plain', isCurrent: false })
      expect(old.headers.get('cache-control')).to.equal('no-store')
      for (const version of ['0', '3', 'x', '1e3'])
        expect(await codeOf('GET', `${at.secret('dbpassword')}/versions/${version}`)).to.equal('404 NOT_FOUND')
      const list = await itemsOf<SecretBody>(`${at.path}/secrets`)
      expect(list.map(({ name, value, version }) => [name, value, version])).to.deep.equal([['DbPassword', null, 2]])
      const { body: vault } = await expectCall<{ secretCount: number }>(200, 'GET', at.path)
      expect(vault.secretCount).to.equal(1)
    })

    it('finds a secret by the name of the vault, and returns the same 404 for hidden and missing ones', async () => {
      const value = canary()
      await put(at, 'by-name', value)
      await put(at, 'by-name', canary())
      const path = `/vaults/${at.vault}/secrets/by-name`
      expect((await expectCall<SecretBody>(200, 'GET', `${path}?version=1`)).body).to.include({ value, version: 1 })
      expect((await expectCall<SecretBody>(200, 'GET', path)).body.version).to.equal(2)
      const { token } = await makeCaller({ Reader: `/boundaries/${place.boundaryId}` })
      const hidden = await call('GET', path, undefined, { token })
      const missing = await call('GET', `/vaults/no-such-vault/secrets/by-name`, undefined, { token })
      expect([hidden.status, missing.status]).to.deep.equal([404, 404])
      const plain = (answer: { body: ErrorBody }, name: string) =>
        [answer.body.code, answer.body.error.replace(name, 'it'), answer.body.module].join(' ')
      expect(plain(hidden, at.vault)).to.equal(plain(missing, 'no-such-vault'))
      expect(await codeOf('GET', `${path}?version=9`)).to.equal('404 NOT_FOUND')
      expect(await codeOf('GET', `${path}?version=0`)).to.equal('400 BAD_REQUEST')
      expect(await codeOf('GET', `/vaults/${at.vault}/secrets/none`)).to.equal('404 NOT_FOUND')
      const reader = await makeCaller({ 'Secrets Reader': at.scope })
      await expectCall(200, 'GET', path, undefined, { token: reader.token })
    })

    it('accepts up to 65536 bytes, and rejects invalid fields', async () => {
      const path = at.secret('bounds')
      for (const value of ['', 'ß'.repeat(32_768), 'a'.repeat(65_536)]) {
        await put(at, 'bounds', value)
        expect((await read(at, 'bounds')).value).to.equal(value)
      }
      const refused: [string, unknown][] = [
        ['400 BAD_REQUEST', { value: 'a'.repeat(65_537) }],
        ['400 BAD_REQUEST', { value: 'ß'.repeat(32_769) }],
        ['400 BAD_REQUEST', { value: 'x', notBefore: '2030-01-02T00:00:00Z', expiresOn: '2030-01-01T00:00:00Z' }],
        ['400 BAD_REQUEST', { value: 'x', contentType: 'x'.repeat(256) }],
        [
          '400 BAD_REQUEST',
          { value: 'x', tags: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`t${i}`, ''])) },
        ],
        ['400 BAD_REQUEST', { value: 'x', tags: { 'freehold.dev/x': '1' } }],
        ['400 MODEL_BINDING_FAILED', { value: 'x', expiresOn: 'tomorrow' }],
        ['400 MODEL_BINDING_FAILED', {}],
        ['400 MODEL_BINDING_FAILED', { value: 1 }],
        ['400 MODEL_BINDING_FAILED', { value: 'x', other: 1 }],
      ]
      for (const [code, body] of refused)
        expect(await codeOf('PUT', path, body), JSON.stringify(body).slice(0, 80)).to.equal(code)
      expect(await codeOf('PUT', at.secret('a_b'), { value: 'x' })).to.equal('400 BAD_REQUEST')
      expect(await codeOf('GET', at.secret('a_b'))).to.equal('404 NOT_FOUND')
      expect((await read(at, 'bounds')).version).to.equal(3)
    })

    it('returns 409 for reads of disabled, not yet valid and expired secrets and of their versions', async () => {
      const cases: [string, object, string][] = [
        ['disabled', { enabled: false }, '409 SECRET_DISABLED'],
        ['early', { notBefore: '2999-01-01T00:00:00Z' }, '409 SECRET_NOT_YET_VALID'],
        ['late', { expiresOn: '2020-01-01T00:00:00Z' }, '409 SECRET_EXPIRED'],
      ]
      for (const [name, attributes, code] of cases) {
        const value = canary()
        await put(at, name, value)
        await put(at, name, value, attributes)
        for (const path of [at.secret(name), `${at.secret(name)}/versions/1`, `/vaults/${at.vault}/secrets/${name}`]) {
          const answer = await call<ErrorBody>('GET', path)
          expect(`${answer.status} ${answer.body.code}`, path).to.equal(code)
          expect(answer.text).not.to.contain(value)
        }
        await put(at, name, value)
        expect((await read(at, name)).value).to.equal(value)
      }
    })

    it('deletes, lists as deleted, recovers and purges a secret', async () => {
      const value = canary()
      await put(at, 'old', value)
      expect(await codeOf('POST', `${at.secret('old')}/purge`)).to.equal('409 INVALID_STATE')
      expect(await codeOf('POST', `${at.secret('old')}/recover`)).to.equal('409 INVALID_STATE')
      const { body: deleted } = await expectCall<SecretBody>(200, 'DELETE', at.secret('old'))
      expect(deleted).to.include({ isDeleted: true, value: null })
      expect(Date.parse(deleted.purgeAt ?? '') - Date.parse(deleted.deletedAt ?? '')).to.equal(30 * 86_400_000)
      for (const path of [at.secret('old'), `${at.secret('old')}/versions`, `${at.secret('old')}/versions/1`])
        expect(await codeOf('GET', path), path).to.equal('404 NOT_FOUND')
      expect(await codeOf('DELETE', at.secret('old'))).to.equal('404 NOT_FOUND')
      expect(await codeOf('PUT', at.secret('OLD'), { value: 'x' })).to.equal('409 SECRET_DELETED')
      const names = async (query: string) =>
        (await itemsOf<SecretBody>(`${at.path}/secrets${query}`)).map(({ name }) => name)
      expect(await names('')).not.to.include('old')
      expect(await names('?includeDeleted=true&filter=isDeleted:eq:true')).to.deep.equal(['old'])
      expect(await codeOf('GET', `${at.path}/secrets?includeDeleted=maybe`)).to.equal('400 BAD_REQUEST')
      const { body: recovered } = await expectCall<SecretBody>(200, 'POST', `${at.secret('old')}/recover`)
      expect(recovered).to.include({ isDeleted: false, deletedAt: null, purgeAt: null, value: null })
      expect((await read(at, 'old')).value).to.equal(value)

      await expectCall(200, 'DELETE', at.secret('old'))
      await expectCall(204, 'POST', `${at.secret('old')}/purge`)
      for (const path of ['purge', 'recover'])
        expect(await codeOf('POST', `${at.secret('old')}/${path}`)).to.equal('404 NOT_FOUND')
      expect(await names('?includeDeleted=true')).not.to.include('old')
      await until('its Secrets are gone', async () => {
        const labelSelector = valueSelector(at.entry('old'))
        return (await admin.list(secret, { namespace: place.namespace, labelSelector })).items.length === 0
      })
      // Version numbers continue.
      expect((await put(at, 'old', 'again')).version).to.equal(2)
      expect((await read(at, 'old')).value).to.equal('again')
      expect(await codeOf('GET', `${at.secret('old')}/versions/1`)).to.equal('404 NOT_FOUND')
    })

    it('removes the data key at once when a secret is purged', async () => {
      await put(at, 'key', 'x')
      const { key } = valueNames(at.entry('key'), 1)
      const stored = () => admin.get<KubeObject & { data?: object }>(secret, { namespace: place.namespace, name: key })
      expect((await stored()).data).to.have.property('jwe')
      await expectCall(200, 'DELETE', at.secret('key'))
      await expectCall(204, 'POST', `${at.secret('key')}/purge`)
      const after = await stored().catch(() => undefined)
      expect(after?.data ?? {}).to.deep.equal({})
    })

    it('deletes at once in a vault without soft delete', async () => {
      const plain = await makeVault({ softDeleteEnabled: false }, place)
      await put(plain, 'x', 'y')
      await expectCall(204, 'DELETE', plain.secret('x'))
      expect(await codeOf('GET', plain.secret('x'))).to.equal('404 NOT_FOUND')
      expect(await itemsOf(`${plain.path}/secrets?includeDeleted=true`)).to.deep.equal([])
      expect((await put(plain, 'x', 'z')).version).to.equal(2)
      expect((await read(plain, 'x')).value).to.equal('z')
    })

    it('returns 409 PURGE_PROTECTED with purgeAt under purge protection', async () => {
      const guarded = await makeVault({ enablePurgeProtection: true, softDeleteRetentionDays: 7 }, place)
      await put(guarded, 'x', 'y')
      const { body } = await expectCall<SecretBody>(200, 'DELETE', guarded.secret('x'))
      const refused = await call<ErrorBody & { purgeAt: string }>('POST', `${guarded.secret('x')}/purge`)
      expect(`${refused.status} ${refused.body.code}`).to.equal('409 PURGE_PROTECTED')
      expect(refused.body.purgeAt).to.equal(body.purgeAt)
      await expectCall(200, 'POST', `${guarded.secret('x')}/recover`)
    })

    it('keeps the values of 24 concurrent writers', async () => {
      const writers = Array.from({ length: 24 }, (_, index) => `value-${index}`)
      const answers = await Promise.all(writers.map((value) => put(at, 'busy', value)))
      const versions = answers.map(({ version }) => version).sort((one, other) => one - other)
      expect(versions).to.deep.equal(Array.from({ length: 24 }, (_, index) => index + 1))
      const values = await Promise.all(
        versions.map(
          async (version) =>
            (await expectCall<{ value: string }>(200, 'GET', `${at.secret('busy')}/versions/${version}`)).body.value,
        ),
      )
      expect([...values].sort()).to.deep.equal([...writers].sort())
      const byVersion = new Map(answers.map(({ version }, index) => [version, writers[index]]))
      expect(values).to.deep.equal(versions.map((version) => byVersion.get(version)))
    })

    it('returns 409 for PUT with a stale If-Match', async () => {
      await put(at, 'tagged', 'x')
      const etag = (await call('GET', at.secret('tagged'))).headers.get('etag') ?? ''
      const again = (tag: string) => call('PUT', at.secret('tagged'), { value: 'y' }, { headers: { 'if-match': tag } })
      expect((await again(etag)).status).to.equal(200)
      expect((await again(etag)).status).to.equal(409)
    })

    it('keeps 100 versions and their values', async () => {
      for (let version = 1; version <= 103; version += 1) await put(at, 'many', `v${version}`)
      const versions = await itemsOf<{ version: number }>(`${at.secret('many')}/versions`)
      expect([versions.length, versions[0]?.version, versions.at(-1)?.version]).to.deep.equal([100, 103, 4])
      expect(await codeOf('GET', `${at.secret('many')}/versions/3`)).to.equal('404 NOT_FOUND')
      expect((await expectCall<SecretBody>(200, 'GET', `${at.secret('many')}/versions/4`)).body.value).to.equal('v4')
      const names = valueNames(at.entry('many'), 1)
      await until('the values of the oldest are gone', async () => {
        const labelSelector = valueSelector(at.entry('many'), 1)
        const { items } = await admin.list(secret, { namespace: place.namespace, labelSelector })
        const left = items.map(({ metadata }) => metadata.name)
        return left.length === 101 && !left.includes(names.version(3))
      })
    })

    it('returns 409 MANAGED_SECRET for writes to secrets of the platform', async () => {
      await put(at, 'managed', 'x')
      const ref = { namespace: place.namespace, name: at.entry('managed') }
      await admin.mergePatch(VaultEntry.resource, ref, { spec: { history: { isManaged: true } } })
      await until('the facade shows it as managed', async () => {
        const { body } = await call<{ isManaged: boolean }>('GET', at.secret('managed'))
        return body.isManaged
      })
      expect(await codeOf('PUT', at.secret('managed'), { value: 'y' })).to.equal('409 MANAGED_SECRET')
      expect(await codeOf('DELETE', at.secret('managed'))).to.equal('409 MANAGED_SECRET')
      expect((await read(at, 'managed')).value).to.equal('x')
    })

    it('allows reads and writes to callers with the permission only', async () => {
      await put(at, 'guarded', 'x')
      const path = at.secret('guarded')
      const token = async (role: string, scope: string) => (await makeCaller({ [role]: scope })).token
      const reader = await token('Reader', `/boundaries/${place.boundaryId}`)
      const contributor = await token('Contributor', `/boundaries/${place.boundaryId}`)
      const secretsReader = await token('Secrets Reader', at.scope)
      const officer = await token('Secrets Officer', at.scope)
      expect(await codeOf('GET', `${at.path}/secrets`, undefined, reader)).to.equal('200')
      for (const each of [reader, contributor]) {
        expect(await codeOf('GET', path, undefined, each)).to.equal('403 FORBIDDEN')
        expect(await codeOf('PUT', path, { value: 'x' }, each)).to.equal('403 FORBIDDEN')
        expect(await codeOf('GET', `${path}/versions`, undefined, each)).to.equal('403 FORBIDDEN')
      }
      expect(await codeOf('GET', path, undefined, secretsReader)).to.equal('200')
      expect(await codeOf('PUT', path, { value: 'x' }, secretsReader)).to.equal('403 FORBIDDEN')
      expect(await codeOf('DELETE', path, undefined, secretsReader)).to.equal('403 FORBIDDEN')
      expect(await codeOf('PUT', path, { value: 'x' }, officer)).to.equal('200')
      const { token: stranger } = await makeCaller()
      expect(await codeOf('GET', path, undefined, stranger)).to.equal('403 FORBIDDEN')
      expect(await codeOf('PUT', path, { value: 'y' }, stranger)).to.equal('403 FORBIDDEN')
      expect(await codeOf('GET', `${at.path}/secrets`, undefined, stranger)).to.equal('403 FORBIDDEN')
      expect((await read(at, 'guarded')).value).to.equal('x')
    })
  })
})
