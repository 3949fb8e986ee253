import { expect } from 'chai'
import { ConfigurationError, readConfiguration } from '../../config.ts'
import { objectStore, seaweedRef } from './objectstorage.ts'

const least = { PLATFORM_ISSUER: 'https://login.example/realms/freehold' }
const PAIR = { PLATFORM_OBJECT_STORE_ACCESS_KEY_ID: 'administrator', PLATFORM_OBJECT_STORE_SECRET_ACCESS_KEY: 'x' }
const SEAWEED = { PLATFORM_OBJECT_STORE_DRIVER: 'seaweedfs', PLATFORM_OBJECT_STORE_SEAWEED: 'seaweedfs/store' }
const read = (variables: Record<string, string>) => readConfiguration({ ...least, ...variables })

describe('objectStore and seaweedPlace', () => {
  it('return undefined without settings', async () => {
    expect(await objectStore(read({}))).to.equal(undefined)
    expect(seaweedRef(read({}))).to.equal(undefined)
  })

  it('derive the endpoint from the Seaweed resource', async () => {
    const configuration = read({ ...SEAWEED, ...PAIR })
    const store = await objectStore(configuration)
    expect(store?.info).to.include({ driver: 'seaweedfs', endpoint: 'http://store-s3.seaweedfs.svc:8333' })
    expect(seaweedRef(configuration)).to.deep.equal({ namespace: 'seaweedfs', name: 'store', port: 8333 })
    await store?.close()
  })

  it('prefer the configured endpoint to that of Seaweed', async () => {
    const configuration = read({ ...SEAWEED, ...PAIR, PLATFORM_OBJECT_STORE_ENDPOINT: 'http://127.0.0.1:9000/' })
    const store = await objectStore(configuration)
    expect(store?.info.endpoint).to.equal('http://127.0.0.1:9000')
    expect(seaweedRef(configuration)?.port).to.equal(undefined)
    await store?.close()
  })

  const refused: [string, Record<string, string>, RegExp][] = [
    ['without credentials', SEAWEED, /objectStoreAccessKeyId/],
    ['with credentials but no endpoint', { PLATFORM_OBJECT_STORE_DRIVER: 'versitygw', ...PAIR }, /objectStoreEndpoint/],
    [
      'with Seaweed and the driver versitygw',
      { ...SEAWEED, ...PAIR, PLATFORM_OBJECT_STORE_DRIVER: 'versitygw' },
      /objectStoreSeaweed needs/,
    ],
    [
      'with Seaweed and a folder',
      { ...SEAWEED, ...PAIR, PLATFORM_OBJECT_STORE_FOLDER: '/var/lib/store' },
      /objectStoreFolder needs/,
    ],
  ]
  for (const [what, variables, message] of refused) {
    it(`reject a store ${what}`, async () => {
      const failure = await objectStore(read(variables)).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(ConfigurationError).with.property('message').that.matches(message)
    })
  }

  it('reject a Seaweed setting that is not namespace/name', () => {
    for (const text of ['store', 'a/b/c', 'A/b', '/b', 'a/'])
      expect(() => read({ PLATFORM_OBJECT_STORE_SEAWEED: text }), text).to.throw(ConfigurationError, /namespace\/name/)
  })
})
