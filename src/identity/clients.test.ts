import { expect } from 'chai'
import { PlatformClient } from '../crds/identity.ts'
import { secret } from '../kube/builtin.ts'
import { KubeError } from '../kube/errors.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { kubeClientStore } from './clients.ts'
import { firstOwner } from './firstOwner.ts'
import { generateSigningKey } from './keyRing.ts'
import { KEYS_SECRET, secretKeyStore } from './keyStore.ts'

const CLIENT_ID = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const owner = () => firstOwner({ clientId: CLIENT_ID, clientSecret: 'a-secret', displayName: 'First owner' })

/** An API server with the objects of the first owner. */
function server(): FakeKubeClient {
  const client = new FakeKubeClient()
  const [secretObject, clientObject] = owner()
  if (secretObject !== undefined) client.seed(secret, secretObject)
  if (clientObject !== undefined) client.seed(PlatformClient.resource, clientObject)
  return client
}

describe('kubeClientStore', () => {
  const ref = { namespace: 'freehold-system', name: CLIENT_ID }
  const find = (client: FakeKubeClient, clientId = CLIENT_ID) => kubeClientStore(client).find(clientId)

  it('finds a service account with its secret', async () => {
    const client = server()
    const { uid } = (await client.get(PlatformClient.resource, ref)).metadata
    expect(await find(client)).to.deep.equal({
      uid,
      clientId: CLIENT_ID,
      secret: 'a-secret',
      displayName: 'First owner',
      isEnabled: true,
    })
  })

  it('returns isEnabled false for a disabled service account', async () => {
    const client = server()
    await client.mergePatch(PlatformClient.resource, ref, { spec: { isEnabled: false } })
    expect((await find(client))?.isEnabled).to.equal(false)
  })

  it('returns undefined for a service account that is being deleted or has no secret', async () => {
    const deleting = server()
    deleting.edit(PlatformClient.resource, ref, (object) => {
      object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    })
    expect(await find(deleting)).to.equal(undefined)
    const withoutSecret = server()
    await withoutSecret.remove(secret, { ...ref, name: `client-${CLIENT_ID}` })
    expect(await find(withoutSecret)).to.equal(undefined)
  })

  for (const id of ['', 'default', '../secrets/x', CLIENT_ID.toUpperCase(), `${CLIENT_ID}/status`]) {
    it(`returns undefined without a request for an id that is not a UUID: "${id}"`, async () => {
      const client = server()
      expect(await find(client, id)).to.equal(undefined)
      expect(client.count()).to.equal(0)
    })
  }

  for (const failure of [
    new KubeError('Unavailable', 'No answer.', { status: 0 }),
    new KubeError('NotServed', 'The type is not served.', { status: 404 }),
  ]) {
    it(`rejects if the API server fails: ${failure.message}`, async () => {
      const client = server()
      client.fail('get', PlatformClient.resource, () => {
        throw failure
      })
      expect(await find(client).catch((error: unknown) => error)).to.equal(failure)
    })
  }
})

describe('firstOwner', () => {
  it('returns a Secret, the client that names it and its assignment at the root', () => {
    const [credentials, client, assignment] = owner()
    expect(credentials?.data).to.deep.equal({ 'client-secret': Buffer.from('a-secret').toString('base64') })
    expect(PlatformClient.spec.parse(client?.spec).secretName).to.equal(credentials?.metadata.name)
    expect(client?.metadata.name).to.equal(CLIENT_ID)
    expect(assignment?.spec).to.include({
      principalId: CLIENT_ID,
      principalType: 'ServicePrincipal',
      roleDefinitionName: 'Owner',
      scope: '/',
    })
    expect(new Set(owner().map((object) => object.metadata.namespace))).to.deep.equal(new Set(['freehold-system']))
  })

  it('throws for an id that is not a UUID and for an empty secret', () => {
    const words = { clientId: CLIENT_ID, clientSecret: 'a-secret', displayName: 'First owner' }
    expect(() => firstOwner({ ...words, clientId: 'admin' })).to.throw(/uuid/)
    expect(() => firstOwner({ ...words, clientSecret: '' })).to.throw(/empty/)
  })
})

describe('secretKeyStore', () => {
  it('reads what it wrote, and returns undefined if another replica was faster', async () => {
    const client = new FakeKubeClient()
    const store = secretKeyStore(client)
    expect(await store.read()).to.equal(undefined)
    const ring = [await generateSigningKey(0)]
    const created = await store.create(ring)
    expect(created?.ring[0]?.kid).to.equal(ring[0]?.kid)
    expect(await store.create(ring), 'somebody else was faster').to.equal(undefined)
    const read = await store.read()
    expect(read?.ring[0]?.jwk).to.deep.equal(created?.ring[0]?.jwk)
    expect(await store.replace(ring, 'an older version')).to.equal(undefined)
    expect((await store.replace(ring, read?.version ?? ''))?.ring).to.have.length(1)
    await client.remove(secret, { namespace: 'freehold-system', name: KEYS_SECRET })
    expect(await store.replace(ring, 'any'), 'it was deleted').to.equal(undefined)
  })
})
