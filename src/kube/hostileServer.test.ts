import { expect } from 'chai'
import { staticAccess } from '../../test/make/access.ts'
import { until } from '../../test/make/until.ts'
import { type PlayedRequest, sent, WatchServer } from '../../test/worlds/watchServer.ts'
import { isRecord } from '../core/isRecord.ts'
import { configMap, pod } from './builtin.ts'
import { CacheSet } from './caches.ts'
import { createKubeClient, type KubeClient, type KubeClientOptions } from './client.ts'
import { isKubeError } from './errors.ts'
import type { KubeObject } from './object.ts'
import { ObjectStore } from './store.ts'

const MOST = 64 * 1024
const ref = { name: 'x', namespace: 'a' }
const filling = 'x'.repeat(MOST / 4)

/** Sends until the client disconnects. */
function endless(status: number, part: (count: number) => string) {
  return ({ response }: PlayedRequest) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    let count = 0
    const timer = setInterval(() => response.write(part(count++)), 1)
    response.once('close', () => clearInterval(timer))
  }
}

describe('createKubeClient, connected to a malicious cluster', () => {
  let server: WatchServer
  let client: KubeClient

  async function play(script: (request: PlayedRequest) => void, options: Partial<KubeClientOptions> = {}) {
    server = await new WatchServer(script).start()
    const access = staticAccess({ server: server.url, token: 't' })
    const named = { fieldManager: 'test', userAgent: 'test', answerMax: MOST, cluster: 'c-1' }
    client = createKubeClient(access, { ...named, ...options })
  }
  afterEach(async () => {
    await client.close()
    await server.stop()
  })

  async function failure(call: () => Promise<unknown>): Promise<string> {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!isKubeError(error)) throw new Error(`It did not fail as expected: ${String(error)}`)
    return `${error.reason}: ${error.message}`
  }
  async function watched(): Promise<void> {
    for await (const _ of client.watchStream(configMap, { sendInitialEvents: true }));
  }

  it('rejects an object beyond the size limit without reading the rest or asking again', async () => {
    await play(endless(200, () => filling))
    expect(await failure(() => client.get(configMap, ref))).to.equal(
      'Unexpected: Cannot get configmaps "a/x": the answer is larger than any expected from this cluster.',
    )
    expect(server.requests).to.have.length(1)
  })

  it('names the cluster in its errors', async () => {
    await play(({ response }) => response.writeHead(403).end(JSON.stringify({ kind: 'Status' })))
    const thrown: unknown[] = []
    for (const call of [() => client.get(configMap, ref), watched]) await call().catch((error) => thrown.push(error))
    expect(thrown.map((error) => isKubeError(error, 'Forbidden') && error.cluster)).to.deep.equal(['c-1', 'c-1'])
  })

  it('rejects a list beyond the size limit, however many pages it has', async () => {
    await play(({ response }) => {
      const items = [sent('one', 1, { n: filling })]
      response.end(JSON.stringify({ metadata: { continue: 'more', resourceVersion: '1' }, items }))
    })
    expect(await failure(() => client.list(configMap))).to.contain('larger than any')
    expect(server.requests.length).to.be.within(2, 5)
  })

  it('gives up on a list without an end, however short its pages are', async () => {
    const { now } = performance
    let passed = 0
    await play(({ response }) => {
      passed += 20_000
      response.end(JSON.stringify({ metadata: { continue: 'more', resourceVersion: '1' }, items: [] }))
    })
    performance.now = () => now.call(performance) + passed
    try {
      expect(await failure(() => client.list(configMap))).to.equal(
        'Unavailable: Cannot list configmaps: the pages do not end.',
      )
    } finally {
      performance.now = now
    }
  })

  it('asks for a page of a list only when the cluster has time left', async () => {
    let permitted = 3
    let isHeld = false
    const share = {
      spend: () => {
        permitted -= 1
        isHeld = permitted === 0
        return isHeld ? new Promise<void>(() => {}) : undefined
      },
    }
    await play(
      ({ response }) =>
        void response.end(JSON.stringify({ metadata: { continue: 'more', resourceVersion: '1' }, items: [] })),
      { share },
    )
    void client.list(configMap)
    await until('the list waits', () => isHeld)
    expect(server.requests).to.have.length(3)
  })

  it('limits the size of all open answers together', async () => {
    // Each has three quarters of the limit of one answer, and does not end.
    await play(({ response }) => void response.write('x'.repeat((MOST * 3) / 4)))
    const calls = [1, 2, 3, 4].map((number) => failure(() => client.get(configMap, { ...ref, name: `x${number}` })))
    expect(await Promise.race(calls)).to.contain('larger than any')
    const ended = Promise.all(calls)
    await client.close()
    await ended
  })

  it('reads only the beginning of an error response', async () => {
    await play(endless(403, () => filling))
    expect(await failure(() => watched())).to.contain('Unavailable')
  })

  it('rejects any other response beyond the size limit', async () => {
    await play(endless(200, () => filling))
    const answer = await client.request({ path: '/version' })
    expect(await failure(() => answer.text())).to.contain('larger than any')
  })

  it('rejects a watch event beyond the size limit', async () => {
    await play(endless(200, () => filling))
    expect(await failure(watched)).to.contain('a line is longer')
  })

  for (const status of [200, 500])
    it(`rejects JSON that takes far more memory than its length (HTTP ${status})`, async () => {
      const hollow = `{"type":"ADDED","object":{"data":[${'{},'.repeat(150_000)}{}]}}\n`
      server = await new WatchServer(({ response }) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(hollow)
      }).start()
      client = createKubeClient(staticAccess({ server: server.url, token: 't' }), {
        ...{ fieldManager: 'test', userAgent: 'test', answerMax: 16 * MOST },
      })
      if (status === 200) expect(await failure(watched)).to.contain('more values than any object')
      expect(await failure(() => client.get(configMap, ref))).to.contain('larger than any')
    })

  const metadata = { name: 'x', namespace: 'a', resourceVersion: '1' }
  for (const odd of [
    null,
    7,
    {},
    { metadata: 'x' },
    { metadata: { ...metadata, name: {} } },
    { metadata: { ...metadata, labels: 7 } },
    { metadata: { ...metadata, annotations: { a: {} } } },
    { metadata: { ...metadata, ownerReferences: {} } },
    { metadata: { ...metadata, ownerReferences: [{ controller: true }] } },
    { metadata: { ...metadata, finalizers: [null] } },
    { metadata, items: 'none' },
  ])
    it(`rejects an invalid object and names the cluster: ${JSON.stringify(odd).slice(0, 90)}`, async () => {
      let text = JSON.stringify(odd)
      await play(({ response }) => response.end(`${text}\n`))
      const thrown: unknown[] = []
      await client.get(configMap, ref).catch((error) => thrown.push(error))
      text = JSON.stringify({ metadata: {}, items: [...(isRecord(odd) && 'items' in odd ? [null] : [odd])] })
      await client.list(configMap).catch((error) => thrown.push(error))
      expect(thrown.map((error) => isKubeError(error, 'Unexpected') && error.cluster)).to.deep.equal(['c-1', 'c-1'])
      text = JSON.stringify({ type: 'ADDED', object: isRecord(odd) && 'items' in odd ? 7 : odd })
      expect(await failure(watched)).to.contain('Unexpected')
    })

  const containers = [{ name: 'main', image: 'x' }]
  for (const odd of [
    {},
    { spec: 7 },
    { spec: {} },
    { spec: { containers: 'main' } },
    { spec: { containers: [null] } },
    { spec: { containers: [{ image: 'x' }] } },
    { spec: { containers, nodeName: {} } },
    { spec: { containers, volumes: [{ name: 'a', secret: [] }] } },
    { spec: { containers }, status: 'Running' },
    { spec: { containers }, status: { conditions: {} } },
    { spec: { containers }, status: { startTime: 'yesterday' } },
    { spec: { containers: [{ ...containers[0], resources: { requests: { cpu: 1 } } }] } },
  ])
    it(`rejects an invalid pod and names the cluster: ${JSON.stringify(odd).slice(0, 90)}`, async () => {
      let text = JSON.stringify({ metadata, ...odd })
      await play(({ response }) => response.end(`${text}\n`))
      const thrown: unknown[] = []
      await client.get(pod, ref).catch((error) => thrown.push(error))
      text = JSON.stringify({
        metadata: {},
        items: [
          { metadata, spec: { containers } },
          { metadata, ...odd },
        ],
      })
      await client.list(pod).catch((error) => thrown.push(error))
      expect(thrown.map((error) => isKubeError(error, 'Unexpected') && error.cluster)).to.deep.equal(['c-1', 'c-1'])
      text = JSON.stringify({ type: 'ADDED', object: { metadata, ...odd } })
      const watching = async () => {
        for await (const _ of client.watchStream(pod, { sendInitialEvents: true }));
      }
      expect(await failure(watching)).to.contain('Unexpected')
    })

  it('accepts unknown fields and drops fields that are null', async () => {
    const sent = {
      spec: { containers, volumes: null, more: 7 },
      status: { conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null }] },
    }
    await play(({ response }) => response.end(JSON.stringify({ metadata, ...sent })))
    const { spec, status } = await client.get<KubeObject & typeof sent>(pod, ref)
    expect(spec).to.deep.equal({ containers, more: 7 })
    expect(status).to.deep.equal({ conditions: [{ type: 'Ready', status: 'True' }] })
  })

  it('accepts the Status that follows a deletion', async () => {
    await play(({ response }) => response.end(JSON.stringify({ kind: 'Status', metadata: {}, status: 'Success' })))
    expect(await client.remove(pod, ref)).to.equal(undefined)
  })

  it('rejects a streaming list beyond the size limit', async () => {
    const event = (count: number) => ({ type: 'ADDED', object: sent(`n${count}`, count + 1, { n: filling }) })
    await play(endless(200, (count) => `${JSON.stringify(event(count))}\n`))
    expect(await failure(watched)).to.contain('more objects than any cluster')
  })

  it('reads no further events while those so far have taken their share of the time', async () => {
    let sentEvents = 0
    const event = () => ({ type: 'MODIFIED', object: sent('a', ++sentEvents, { n: filling }) })
    await play(endless(200, () => `${JSON.stringify(event())}\n`))
    const spent: number[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const share = { spend: (milliseconds: number) => (spent.push(milliseconds) < 3 ? undefined : promise) }
    const access = staticAccess({ server: server.url, token: 't' })
    const bounded = createKubeClient(access, { fieldManager: 'test', userAgent: 'test', share })
    const seen: string[] = []
    const reading = (async () => {
      for await (const { object } of bounded.watchStream(configMap, {})) {
        seen.push(object.metadata.resourceVersion ?? '')
        if (spent.length > 3) break
      }
    })()
    await until('it has to wait', () => spent.length === 3)
    const before = seen.length
    await until('more was sent', () => sentEvents > before + 20)
    expect([seen.length, spent.length]).to.deep.equal([before, 3])
    resolve()
    await reading
    expect(seen.length).to.be.greaterThan(before)
    await bounded.close()
  })

  const wide: [what: string, event: (count: number) => object][] = [
    ['contents', (count) => sent(`n${count}`, count + 2, { n: filling })],
    ['names', (count) => sent(`n${count}${filling}`, count + 2, {})],
    ['namespaces', (count) => withMetadata(count, { namespace: `${count}${filling}` })],
    ['uids', (count) => withMetadata(count, { uid: `${count}${filling}` })],
    ['versions', (count) => withMetadata(count, { resourceVersion: `${count + 1}${'0'.repeat(filling.length)}` })],
  ]
  for (const [what, objectOf] of wide)
    it(`limits the size of all caches of a cluster together: long ${what}`, async () => {
      const bookmark = {
        kind: 'ConfigMap',
        metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } },
      }
      await play((request) => {
        request.send({ type: 'BOOKMARK', object: bookmark })
        const event = (count: number) => ({ type: 'ADDED', object: objectOf(count) })
        endless(200, (count) => `${JSON.stringify(event(count))}\n`)({ ...request, response: played(request) })
      })
      const budget = { limit: 4 * MOST, used: 0 }
      const caches = new CacheSet({ client, budget })
      const cache = caches.add(configMap)
      caches.start()
      await until('the budget is used up', () => budget.used > budget.limit || cache.size > 40)
      await until('the watch was ended', () => !cache.metrics().live || cache.size > 40)
      expect(cache.size).to.be.lessThan(20)
      expect(budget.used).to.be.within(budget.limit, budget.limit + MOST)
      await caches.stopAll()
      expect(budget.used).to.equal(0)
    })
})

describe('createKubeClient, for an unreachable cluster', () => {
  it('names the cluster in the error of every kind of call', async () => {
    const access = staticAccess({ server: 'http://127.0.0.1:1', token: 't' })
    const options = { fieldManager: 'test', userAgent: 'test', cluster: 'c-1', timeout: 1 }
    const client = createKubeClient(access, options)
    const calls = [
      () => client.get(configMap, ref),
      () => client.request({ path: '/version' }),
      async () => {
        for await (const _ of client.watchStream(configMap, {}));
      },
    ]
    for (const call of calls) {
      const thrown: unknown = await call().catch((error: unknown) => error)
      expect(isKubeError(thrown, 'Unavailable') && thrown.cluster).to.equal('c-1')
    }
    await client.close()
  })
})

describe('ObjectStore.put', () => {
  for (const metadata of [{ name: 7 }, { name: undefined }, { namespace: 5 }, { uid: {} }, { resourceVersion: 9 }])
    it(`rejects the invalid metadata ${JSON.stringify(metadata)}`, () => {
      const store = new ObjectStore(configMap)
      const odd = { ...sent('x', 1), metadata: { ...sent('x', 1).metadata, ...metadata } } as unknown as KubeObject
      expect(() => store.put(odd)).to.throw(TypeError)
      expect([store.size, store.bytes]).to.deep.equal([0, 0])
    })
})

function withMetadata(count: number, more: object) {
  const object = sent(`n${count}`, count + 2, {})
  return { ...object, metadata: { ...object.metadata, ...more } }
}

/** The head of this response was already sent. */
function played({ response }: PlayedRequest): PlayedRequest['response'] {
  response.writeHead = () => response
  return response
}
