import { expect } from 'chai'
import { PlatformClient } from '../crds/identity.ts'
import type { KubeClient } from '../kube/client.ts'
import { KubeError } from '../kube/errors.ts'
import type { KubeObject, ObjectRef, Resource } from '../kube/object.ts'
import { kubeClientStore } from './clients.ts'
import { firstOwner } from './firstOwner.ts'
import { generateSigningKey } from './keyRing.ts'
import { KEYS_SECRET, secretKeyStore } from './keyStore.ts'

const CLIENT_ID = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const owner = () => firstOwner({ clientId: CLIENT_ID, clientSecret: 'a-secret', displayName: 'First owner' })

/** The few verbs of an API server that the provider uses. */
class Objects implements Pick<KubeClient, 'get' | 'create' | 'update'> {
  readonly reads: string[] = []
  failure: KubeError | undefined
  readonly #objects = new Map<string, KubeObject>()
  #version = 0

  constructor(...objects: KubeObject[]) {
    for (const object of objects) this.put(object)
  }
  put<T extends KubeObject>(object: T): T {
    this.#version += 1
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
    this.#objects.set(`${object.kind}/${object.metadata.name}`, stored)
    return stored
  }
  delete(kind: string, name: string) {
    this.#objects.delete(`${kind}/${name}`)
  }
  async get<T extends KubeObject>(resource: Resource, ref: ObjectRef): Promise<T> {
    this.reads.push(`${resource.plural}/${ref.namespace}/${ref.name}`)
    if (this.failure !== undefined) throw this.failure
    const found = this.#objects.get(`${resource.kind}/${ref.name}`)
    if (found === undefined) throw new KubeError('NotFound', 'It does not exist.', { status: 404 })
    return found as T
  }
  async create<T extends KubeObject>(_resource: Resource, object: T): Promise<T> {
    if (this.#objects.has(`${object.kind}/${object.metadata.name}`))
      throw new KubeError('AlreadyExists', 'The name is taken.', { status: 409 })
    return this.put(object)
  }
  async update<T extends KubeObject>(resource: Resource, object: T): Promise<T> {
    const found = await this.get(resource, object.metadata)
    if (found.metadata.resourceVersion !== object.metadata.resourceVersion)
      throw new KubeError('Conflict', 'It was changed.', { status: 409 })
    return this.put(object)
  }
}

function changed(change: (client: PlatformClient & KubeObject) => void): KubeObject[] {
  const objects = owner()
  change(objects[1] as PlatformClient & KubeObject)
  return objects
}

describe('service accounts in the API server', () => {
  it('are found with their secret', async () => {
    expect(await kubeClientStore(new Objects(...owner())).find(CLIENT_ID)).to.deep.equal({
      clientId: CLIENT_ID,
      secret: 'a-secret',
      displayName: 'First owner',
      isEnabled: true,
    })
  })

  it('say when they are disabled', async () => {
    const objects = changed((client) => {
      client.spec.isEnabled = false
    })
    expect((await kubeClientStore(new Objects(...objects)).find(CLIENT_ID))?.isEnabled).to.equal(false)
  })

  it('do not exist while they are being deleted, or without a secret', async () => {
    const deleting = changed((client) => {
      client.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    })
    expect(await kubeClientStore(new Objects(...deleting)).find(CLIENT_ID)).to.equal(undefined)
    const withoutSecret = new Objects(...owner())
    withoutSecret.delete('Secret', `client-${CLIENT_ID}`)
    expect(await kubeClientStore(withoutSecret).find(CLIENT_ID)).to.equal(undefined)
  })

  for (const id of ['', 'default', '../secrets/x', CLIENT_ID.toUpperCase(), `${CLIENT_ID}/status`]) {
    it(`are not looked up by what is no uuid: "${id}"`, async () => {
      const objects = new Objects(...owner())
      expect(await kubeClientStore(objects).find(id)).to.equal(undefined)
      expect(objects.reads).to.deep.equal([])
    })
  }

  for (const failure of [
    new KubeError('Unavailable', 'No answer.', { status: 0 }),
    new KubeError('NotFound', 'The type is not served.', { status: 404, typeMissing: true }),
  ]) {
    it(`are not taken for unknown on a failure: ${failure.message}`, async () => {
      const objects = new Objects(...owner())
      objects.failure = failure
      const thrown = await kubeClientStore(objects)
        .find(CLIENT_ID)
        .catch((error: unknown) => error)
      expect(thrown).to.equal(failure)
    })
  }
})

describe('the first owner', () => {
  it('is a secret, then the client that names it, then its assignment at the root', () => {
    const [secret, client, assignment] = owner()
    expect(secret?.data).to.deep.equal({ 'client-secret': Buffer.from('a-secret').toString('base64') })
    expect(PlatformClient.spec.parse(client?.spec).secretName).to.equal(secret?.metadata.name)
    expect(client?.metadata.name).to.equal(CLIENT_ID)
    expect(assignment?.spec).to.include({
      principalId: CLIENT_ID,
      principalType: 'ServicePrincipal',
      roleDefinitionName: 'Owner',
      scope: '/',
    })
    expect(new Set(owner().map((object) => object.metadata.namespace))).to.deep.equal(new Set(['freehold-system']))
  })

  it('cannot be made with an id that no token could carry, or without a secret', () => {
    const words = { clientId: CLIENT_ID, clientSecret: 'a-secret', displayName: 'First owner' }
    expect(() => firstOwner({ ...words, clientId: 'admin' })).to.throw(/uuid/)
    expect(() => firstOwner({ ...words, clientSecret: '' })).to.throw(/empty/)
  })
})

describe('signing keys in a Secret', () => {
  it('are read as written, and a lost race is told apart from a failure', async () => {
    const objects = new Objects()
    const store = secretKeyStore(objects)
    expect(await store.read()).to.equal(undefined)
    const ring = [await generateSigningKey(0)]
    const created = await store.create(ring)
    expect(created?.ring[0]?.kid).to.equal(ring[0]?.kid)
    expect(await store.create(ring), 'somebody else was faster').to.equal(undefined)
    const read = await store.read()
    expect(read?.ring[0]?.jwk).to.deep.equal(created?.ring[0]?.jwk)
    expect(await store.replace(ring, 'an older version')).to.equal(undefined)
    expect((await store.replace(ring, read?.version ?? ''))?.ring).to.have.length(1)
    objects.delete('Secret', KEYS_SECRET)
    expect(await store.replace(ring, 'any'), 'it was deleted').to.equal(undefined)
  })
})
