import { expect } from 'chai'
import { type SecretObject, secretText } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { kubePullSecrets } from './pullSecrets.ts'

const REF = { namespace: 'shop-0123456789', name: 'registry-8c1d8a2f' }
const SOURCE = '8c1d8a2f-0000-4000-8000-000000000000'
const ownerOf = (name: string) => ({
  ...{ apiVersion: 'compute.freehold.dev/v1alpha1', kind: 'ContainerInstance' },
  ...{ name, uid: `uid-of-${name}` },
})

describe('kubePullSecrets', () => {
  let client: FakeKubeClient
  beforeEach(() => {
    client = new FakeKubeClient()
  })
  const write = (places: readonly string[], owner: string | undefined, password = 'one') =>
    kubePullSecrets(client).write({
      ...REF,
      sourceId: SOURCE,
      accounts: Object.fromEntries(places.map((place) => [place, { username: 'robot', password }])),
      owner: owner === undefined ? undefined : ownerOf(owner),
    })
  const stored = async () => {
    const found = await client.get<SecretObject>(secret, REF)
    const { auths } = JSON.parse(secretText(found.data, '.dockerconfigjson') ?? '') as {
      auths: Record<string, { password: string }>
    }
    return {
      owners: (found.metadata.ownerReferences ?? []).map(({ name }) => name),
      passwords: Object.fromEntries(Object.entries(auths).map(([place, { password }]) => [place, password])),
    }
  }

  it('adds an owner reference for each resource', async () => {
    await write(['registry.test/web'], 'web')
    await write(['registry.test/shop'], 'shop')
    await write(['registry.test/shop'], 'shop')
    expect((await stored()).owners).to.deep.equal(['web', 'shop'])
  })

  it('merges the repositories of several resources under the latest password', async () => {
    await write(['registry.test/web'], 'web')
    await write(['registry.test/shop'], 'shop', 'two')
    expect((await stored()).passwords).to.deep.equal({ 'registry.test/web': 'two', 'registry.test/shop': 'two' })
  })

  it('replaces the repositories of a single resource', async () => {
    await write(['registry.test/web', 'registry.test/base'], 'web')
    await write(['registry.test/web'], 'web')
    expect((await stored()).passwords).to.deep.equal({ 'registry.test/web': 'one' })
  })

  it('drops entries of an earlier registry', async () => {
    await write(['former.test/web'], 'web')
    await write(['registry.test/shop'], 'shop', 'two')
    expect((await stored()).passwords).to.deep.equal({ 'registry.test/shop': 'two' })
  })

  for (const [first, second] of [
    [undefined, 'web'],
    ['web', undefined],
  ] as const) {
    it(`writes no owner reference if the secret was made for the group ${first === undefined ? 'before' : 'later'}`, async () => {
      await write(['registry.test'], first)
      await write(['registry.test/web'], second)
      expect(await stored()).to.deep.include({ owners: [] })
      expect(Object.keys((await stored()).passwords)).to.include('registry.test/web')
    })
  }
})
