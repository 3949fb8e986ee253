import { once } from 'node:events'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { expect } from 'chai'
import { staticAccess } from '../../test/make/access.ts'
import { PATIENCE } from '../../test/make/until.ts'
import { expectReason } from '../../test/suites/kubeContract.ts'
import { type PlayedRequest, refuse, WatchServer } from '../../test/worlds/watchServer.ts'
import { createAuthority } from '../composition/certificates.ts'
import { runFenced } from '../core/fencedWork.ts'
import type { KubeObject } from '../core/object.ts'
import { onBehalfOf } from '../core/origin.ts'
import { configMap } from './builtin.ts'
import { createKubeClient, type KubeClient, type KubeClientOptions } from './client.ts'

const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'a' } }
const ref = object.metadata
const ok = ({ response }: PlayedRequest) => response.end(JSON.stringify(object))
const lost = (request: PlayedRequest) => request.reset()

const forbid =
  (reason: string) =>
  ({ response }: PlayedRequest) => {
    const details = { name: 'x', causes: [{ reason, message: 'it is being terminated', field: 'metadata.namespace' }] }
    response.writeHead(403).end(JSON.stringify({ kind: 'Status', code: 403, details }))
  }

const notFound = ({ response }: PlayedRequest) =>
  response.writeHead(404).end(JSON.stringify({ kind: 'Status', code: 404, details: { name: 'x' } }))

/** A server whose TLS handshakes wait for the test, as on a slow network. */
async function slowHandshakes() {
  const { certPem: cert, keyPem: key } = await createAuthority('test', new Date())
  const requests: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.end(JSON.stringify(object))
  })
  const begun = Promise.withResolvers<void>()
  const held: Socket[] = []
  const front = createNetServer({ pauseOnConnect: true }, (socket) => {
    held.push(socket)
    begun.resolve()
  })
  for (const each of [server, front]) await once(each.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `https://127.0.0.1:${(front.address() as AddressInfo).port}`,
    begun: begun.promise,
    requests,
    goOn() {
      for (const socket of held) {
        const onward = connect((server.address() as AddressInfo).port, '127.0.0.1')
        pipeline(socket, onward, socket, () => {})
      }
    },
    async stop() {
      for (const socket of held) socket.destroy()
      server.closeAllConnections()
      await Promise.all([server, front].map((each) => new Promise((resolve) => each.close(resolve))))
    },
  }
}

describe('createKubeClient', () => {
  let server: WatchServer
  let client: KubeClient

  async function play(
    scripts: ((request: PlayedRequest) => void)[],
    options: Partial<KubeClientOptions> = {},
  ): Promise<void> {
    server = await new WatchServer(...scripts).start()
    const access = staticAccess({ server: server.url, token: 't' })
    client = createKubeClient(access, { fieldManager: 'test', userAgent: 'test', random: () => 0, ...options })
  }
  afterEach(async () => {
    await client.close()
    await server.stop()
  })

  const repeated: [string, (request: PlayedRequest) => void, () => Promise<unknown>][] = [
    ['a get after 503', refuse(503), () => client.get(configMap, ref)],
    ['a get after 500', refuse(500), () => client.get(configMap, ref)],
    ['a get after a lost connection', lost, () => client.get(configMap, ref)],
    ['a patch after 503', refuse(503), () => client.mergePatch(configMap, ref, { data: {} })],
    ['an apply after a lost connection', lost, () => client.apply(configMap, object)],
    ['a delete after 504', refuse(504), () => client.remove(configMap, ref)],
    ['a create after 429, which changed nothing', refuse(429), () => client.create(configMap, object)],
    ['a create after 401, with fresh credentials', refuse(401), () => client.create(configMap, object)],
  ]
  for (const [what, failure, call] of repeated) {
    it(`retries ${what}`, async () => {
      await play([failure, ok])
      await call()
      expect(server.requests).to.have.length(2)
    })
  }

  const final: [string, (request: PlayedRequest) => void, () => Promise<unknown>, 'Conflict' | 'Unavailable'][] = [
    ['a conflict', refuse(409), () => client.update(configMap, object), 'Conflict'],
    ['a create after 503', refuse(503), () => client.create(configMap, object), 'Unavailable'],
    ['a create after a lost connection', lost, () => client.create(configMap, object), 'Unavailable'],
    ['a patch after 500', refuse(500), () => client.mergePatch(configMap, ref, {}), 'Unavailable'],
  ]
  for (const [what, failure, call, reason] of final) {
    it(`does not retry ${what}`, async () => {
      await play([failure, ok])
      await expectReason(reason, call())
      expect(server.requests).to.have.length(1)
    })
  }

  it('does not take the page of a load balancer for an object, whatever its status', async () => {
    await play([({ response }) => response.end('{"message":"Down for maintenance"}')])
    await expectReason('Unexpected', client.get(configMap, ref))
  })

  it('reports that a create with a lost answer may have been applied', async () => {
    await play([lost])
    expect(await expectReason('Unavailable', client.create(configMap, object))).to.include({ maybeApplied: true })
  })

  it('retries a call after 403 from a server that was just away and still loads its roles', async () => {
    await play([lost, refuse(403), refuse(403), ok])
    await expectReason('Unavailable', client.create(configMap, object))
    await client.create(configMap, object)
    expect(server.requests).to.have.length(4)
  })

  for (const [sentence, away] of [
    ['gave no answer', lost],
    ['had another answer for it', refuse(503)],
  ] as const)
    it(`reports a server as unavailable that just ${sentence} and still loads its roles`, async () => {
      await play([away, ...Array.from({ length: 5 }, () => refuse(403)), forbid('NamespaceTerminating')])
      await expectReason('Unavailable', client.create(configMap, object))
      await expectReason('Unavailable', client.get(configMap, ref))
      await expectReason('Forbidden', client.create(configMap, object))
      expect(server.requests, 'a refusal with a cause is not repeated').to.have.length(7)
    })

  it('does not retry a call after 403 from a server that was available', async () => {
    await play([ok, refuse(403), ok])
    await client.get(configMap, ref)
    await expectReason('Forbidden', client.create(configMap, object))
    expect(server.requests).to.have.length(2)
  })

  it('treats 404 for a repeated delete as success if the first answer was lost', async () => {
    await play([lost, notFound])
    const answer = await client.remove(configMap, ref, { mustExist: true }).catch((error: Error) => error.message)
    expect(answer).to.equal(undefined)
  })

  it('notifies the caches of an object that was already deleted, if its uid is known', async () => {
    const removedUids: (string | undefined)[] = []
    const observer = {
      written: () => {},
      read: () => {},
      removed: (_: unknown, __: unknown, uid?: string) => removedUids.push(uid),
    }
    await play([notFound], { observer })
    await client.remove(configMap, ref, { uid: 'the-life-we-saw' })
    expect(removedUids).to.deep.equal(['the-life-we-saw'])
    // Without a uid, the name may belong to a new object.
    await client.remove(configMap, ref)
    expect(removedUids).to.have.length(1)
  })

  it('gives up at its deadline', async () => {
    await play([() => {}])
    const before = performance.now()
    await expectReason('Unavailable', client.get(configMap, ref, { timeout: 100 }))
    expect(performance.now() - before).to.be.at.least(90)
  })

  describe('while all of its concurrent calls wait for an answer', () => {
    const busy: Promise<unknown>[] = []
    beforeEach(async () => {
      await play([() => {}])
      for (let call = 0; call < 50; call += 1) busy.push(client.get(configMap, ref).catch(() => undefined))
    })
    afterEach(async () => {
      await client.close()
      await Promise.all(busy.splice(0))
    })

    it('gives up at its deadline without sending a create', async () => {
      const error = await expectReason('Unavailable', client.create(configMap, object, { timeout: 50 }))
      expect(error.maybeApplied).to.equal(false)
    })

    it('stops waiting for a slot when the caller aborts', async () => {
      const controller = new AbortController()
      const call = client.get(configMap, ref, { signal: controller.signal })
      const reason = new Error('the request went away')
      controller.abort(reason)
      expect(await call.catch((error: unknown) => error)).to.equal(reason)
    })
  })

  it('limits a caller to 5 concurrent calls, so that other callers are served', async () => {
    const isGreedy = ({ query }: PlayedRequest) => query.has('labelSelector')
    await play([(request) => (isGreedy(request) ? undefined : ok(request))])
    const greedy = Array.from({ length: 60 }, () =>
      onBehalfOf({ caller: 'greedy' }, () => client.list(configMap, { labelSelector: 'of=greedy' })).catch(
        () => undefined,
      ),
    )
    await onBehalfOf({ caller: 'modest' }, () => client.get(configMap, ref))
    await client.get(configMap, ref)
    const { length: sent } = server.requests.filter(isGreedy)
    expect(sent).to.be.at.least(1).and.at.most(5)
    await client.close()
    await Promise.all(greedy)
  })

  it('does not wait for the rest of a body beyond its deadline', async () => {
    await play([({ response }) => response.writeHead(200).write('a beginning')])
    // Retries with longer deadlines until the beginning of the body arrives in time.
    let begun: Awaited<ReturnType<KubeClient['request']>> | undefined
    for (let timeout = 500; begun === undefined && timeout < PATIENCE; timeout *= 4)
      begun = await client.request({ path: '/version', timeout }).catch(() => undefined)
    await expectReason('Unavailable', begun?.text() ?? Promise.resolve())
  })

  it("stops retrying when the caller aborts, with the caller's reason", async () => {
    await play([refuse(503)])
    const controller = new AbortController()
    const call = client.get(configMap, ref, { signal: controller.signal })
    const reason = new Error('the request went away')
    controller.abort(reason)
    expect(await call.catch((error: unknown) => error)).to.equal(reason)
  })

  it('retries at most a tenth of its calls, plus a reserve, if the server is overloaded', async () => {
    await play([refuse(503)])
    for (let call = 0; call < 20; call += 1) await expectReason('Unavailable', client.get(configMap, ref))
    expect(server.requests.length).to.be.at.most(20 + 10 + 2)
  })

  it('sends no write after the fence of the work is closed, but still reads', async () => {
    await play([ok])
    const closed = new Error('too late')
    const fence = () => {
      throw closed
    }
    const within = <Result>(work: () => Result) => runFenced(fence, () => runFenced(() => {}, work))
    await within(async () => {
      expect(await client.create(configMap, object).catch((error: unknown) => error)).to.equal(closed)
      expect(await client.remove(configMap, ref).catch((error: unknown) => error)).to.equal(closed)
      await client.get(configMap, ref)
    })
    expect(server.requests).to.have.length(1)
  })

  it("sends no write after the client's fence is closed, but still reads", async () => {
    const closed = new Error('not the leader')
    const fence = () => {
      throw closed
    }
    await play([ok], { fence })
    expect(await client.apply(configMap, object).catch((error: unknown) => error)).to.equal(closed)
    expect(server.requests).to.have.length(0)
    await client.get(configMap, ref)
    await client.apply(configMap, object, { unfenced: true })
    expect(server.requests).to.have.length(2)
  })

  const writes: [what: string, write: () => Promise<unknown>][] = [
    ['an apply', () => client.apply(configMap, object)],
    ['a request to another path', () => client.request({ method: 'POST', path: '/proxy', body: '{}' })],
  ]
  for (const [what, write] of writes)
    it(`sends no write if the fence closed during the TLS handshake: ${what}`, async () => {
      const lost = new Error('not the leader any more')
      let isClosed = false
      const fence = () => {
        if (isClosed) throw lost
      }
      const slow = await slowHandshakes()
      const access = staticAccess({ server: slow.url, token: 't', tls: { rejectUnauthorized: false } })
      await play([ok])
      client = createKubeClient(access, { fieldManager: 'test', userAgent: 'test', fence })
      const written = write().catch((error: unknown) => error)
      await slow.begun
      isClosed = true
      slow.goOn()
      const answer = await written
      await client.close()
      await slow.stop()
      expect([answer, slow.requests]).to.deep.equal([lost, []])
    })

  it('reports every request to onRequest, with its status', async () => {
    const observed: string[] = []
    const onRequest: KubeClientOptions['onRequest'] = ({ verb, resource, status }) =>
      observed.push(`${verb} ${resource} ${status}`)
    await play([refuse(503), ok], { onRequest })
    await client.get(configMap, ref)
    expect(observed).to.deep.equal(['get configmaps 503', 'get configmaps 200'])
  })

  it('reports the date of answers of the API server, but not of what it only forwards', async () => {
    const dates: unknown[] = []
    await play([ok, ok], { onRequest: ({ date }) => dates.push(date) })
    await client.get(configMap, ref)
    await (await client.request({ path: '/api/v1/namespaces/a/services/b/proxy/' })).text()
    expect([Number.isNaN(Date.parse(String(dates[0]))), dates[1]]).to.deep.equal([false, undefined])
  })

  for (const name of ['', '.', '..', 'a/b', 'a\\b', 'a\nb', 'a\0']) {
    it(`rejects the name ${JSON.stringify(name)} without sending a request`, async () => {
      await play([ok])
      const refused = await client.get(configMap, { namespace: 'a', name }).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(RangeError)
      expect(server.requests).to.have.length(0)
    })
  }

  it('escapes reserved characters in a name', async () => {
    await play([ok])
    await client.get(configMap, { namespace: 'a', name: 'x?watch=1#%2e' })
    expect(server.requests[0]?.query.get('watch')).to.equal(null)
  })

  it('reuses its connections: 20 calls in a row use at most two', async () => {
    await play([ok])
    const ports = new Set<number | undefined>()
    for (let call = 0; call < 20; call += 1) {
      await client.get(configMap, ref)
      ports.add(server.requests.at(-1)?.response.req.socket.remotePort)
    }
    expect(ports.size).to.be.at.most(2)
  })
})
