import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { LOAD_BALANCER_PAGE, startEmptyLoadBalancer } from '../../test/worlds/loadBalancerPage.ts'
import { keycloakAdmin } from './identity/keycloakAdmin.ts'
import { DRIVERS, openStore } from './objectstorage/client.ts'
import { createQdrantClient } from './qdrant/client.ts'
import { createRegistryClient } from './registry/client.ts'
import { giteaCircuit } from './sources/circuit.ts'

const PEER = { namespace: 'ns', pod: 'vc-p-0', service: 'vc-p-peers', keys: ['key'] }
const DIGEST = `sha256:${'a'.repeat(64)}`
const STATUS = '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'

/**
 * What is missing is taken for deleted: data that it held on to is removed, or a deletion counts as done. So "missing" must
 * be the word of the system itself.
 */
describe('a 404 of a load balancer, with no server behind it', () => {
  let balancer: Awaited<ReturnType<typeof startEmptyLoadBalancer>>
  before(async () => {
    balancer = await startEmptyLoadBalancer()
  })
  after(() => balancer.stop())

  const failureOf = (answer: Promise<unknown>): Promise<string> =>
    answer.then(
      (value) => `believed: ${JSON.stringify(value)}`,
      (error: Error & { reason?: string }) => error.reason ?? error.message,
    )

  const registry = () => createRegistryClient({ url: balancer.url, tokenFor: async () => 't', disk: undefined })
  const store = () =>
    openStore({
      ...{ driver: DRIVERS.versitygw, version: '1', endpoint: balancer.url, iamEndpoint: undefined },
      ...{ publicEndpoint: undefined, regionName: 'us-east-1', accessLog: undefined },
      credentials: { accessKeyId: 'a', secretAccessKey: 's' },
    })
  /** Its pages are HTML, but while it changes, some requests still reach Keycloak, such as that for the token. */
  async function deleteUser() {
    const keycloak = createServer(({ url = '' }, response) => {
      if (url.endsWith('/token')) return response.end('{"access_token":"t","expires_in":60}')
      return response.writeHead(404, { 'content-type': 'text/html' }).end(LOAD_BALANCER_PAGE)
    }).listen(0, '127.0.0.1')
    await once(keycloak, 'listening')
    const url = `http://127.0.0.1:${(keycloak.address() as AddressInfo).port}`
    try {
      const admin = keycloakAdmin({ url, realm: 'r', clientId: 'c', clientSecret: () => 's' })
      return await admin.call('DELETE', '/users/1', { accepted: [404] })
    } finally {
      keycloak.closeAllConnections()
      keycloak.close()
    }
  }
  const engine = (text: string) => createQdrantClient({ send: async () => ({ status: 404, text }) })

  const cases: [sentence: string, reason: string, call: () => Promise<unknown>][] = [
    ['does not empty the list of tags of an image', 'Unreachable', () => registry().tags('a/b')],
    ['does not remove a tag', 'Unreachable', () => registry().digestOf('a/b', 'latest')],
    ['does not make a manifest unknown', 'Unreachable', () => registry().manifest('a/b', DIGEST)],
    ['does not count as the removal of a manifest', 'Unreachable', () => registry().remove('a/b', DIGEST)],
    [
      'does not count as the removal of a bucket',
      'Refused',
      () => store().removeBucket('media', { empty: true, owner: 'a-life', objectLock: false }),
    ],
    [
      'does not count as the deletion of an account at the Git host',
      'NotFound',
      () =>
        giteaCircuit(
          (url) => fetch(url),
          balancer.url,
          async () => 'token',
        ).removeAccount('c-1'),
    ],
    ['does not count as the deletion of a person', 'Unavailable', deleteUser],
    [
      'does not make a collection of vectors unknown',
      'Refused',
      () => engine(LOAD_BALANCER_PAGE).collectionShards(PEER, 'c'),
    ],
    ['does not empty a collection of vectors', 'Refused', () => engine(LOAD_BALANCER_PAGE).points(PEER, 'c')],
    ['does not hide snapshots', 'Refused', () => engine(LOAD_BALANCER_PAGE).snapshots(PEER, 'c')],
    [
      'of the API server does not make a collection unknown',
      'Refused',
      () => engine(STATUS).collectionShards(PEER, 'c'),
    ],
  ]
  for (const [sentence, reason, call] of cases)
    it(sentence, async () => expect(await failureOf(call())).to.equal(reason))
})
