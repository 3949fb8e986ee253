import { type IncomingMessage, type RequestListener, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { callsCounted, HOST, SCOPE, startActivator } from '../../test/worlds/activatorWorld.ts'
import { expectBounded } from '../../test/worlds/heldConnections.ts'
import { keyDigest } from '../contracts/functions.ts'
import { type FunctionTrigger, HTTP_METHODS } from '../crds/functionFields.ts'

const hello: RequestListener = (_, response) => void response.end('hello')
const open = (path: string, more: Partial<FunctionTrigger> = {}) => [
  { name: 'web', kind: 'Http' as const, path, authLevel: 'Anonymous' as const, ...more },
]

describe('the activator', () => {
  const worlds: Awaited<ReturnType<typeof startActivator>>[] = []
  const world = async (...given: Parameters<typeof startActivator>) => {
    const made = await startActivator(...given)
    worlds.push(made)
    return made
  }
  afterEach(async () => {
    for (const each of worlds.splice(0)) await each.stop()
  })

  it('answers 50 concurrent calls of a sleeping function with at most 3 copies, and scales it to zero again', async () => {
    let most = 0
    let now = 0
    const activator = await world(async (_, response) => {
      now += 1
      most = Math.max(most, now)
      await new Promise((resolve) => setTimeout(resolve, 20))
      now -= 1
      response.end('hello')
    })
    activator.put('hello', { spec: { triggers: open('/hello'), concurrency: 10, maxReplicas: 3, idleSeconds: 1 } })
    const calls = Array.from({ length: 50 }, () => activator.call('/hello'))
    const answers = await Promise.all(calls)
    expect(answers.every(({ status, text: body }) => status === 200 && body === 'hello')).to.equal(true)
    expect(activator.asked[0]).to.be.within(1, 3)
    expect(most).to.be.at.most(30)
    const counted = () => callsCounted(activator.figures, 'group/shop.hello')
    // A call may be counted a moment after its response.
    await until('all calls are counted', () => (counted()?.invocations ?? 0) >= 50)
    expect([counted()?.invocations, counted()?.errors]).to.deep.equal([50, 0])
    expect(counted()?.coldStarts).to.be.at.least(1)
    await until('it sleeps', () => activator.copies() === 0)
    expect(activator.asked.at(-1)).to.equal(0)
    expect((await activator.call('/hello')).status).to.equal(200)
  })

  for (const [sends, holdsLease, status] of [
    ['sends a call to the copy whose body comes while it stops', true, 200],
    ['sends no call to the copy whose body comes after it has lost the lease', false, 502],
  ] as const)
    it(sends, async () => {
      let leads = true
      let asked = 0
      let reached = 0
      const isLeading = () => {
        asked += 1
        return leads
      }
      const lease = { isLeading, holdsLease: () => holdsLease }
      const echo: RequestListener = (from, to) => {
        reached += 1
        from.pipe(to)
      }
      const activator = await world(echo, { startMilliseconds: 1, lease })
      activator.put('hello', { spec: { triggers: open('/hello', { methods: ['POST'] }) } })
      const answer = Promise.withResolvers<IncomingMessage>()
      const call = request(`${activator.url}/hello`, { method: 'POST', headers: { host: HOST } }, answer.resolve)
      call.on('error', answer.reject)
      call.flushHeaders()
      // Before it takes the call, and when it is connected to the copy.
      await until('the copy is connected', () => asked === 2)
      leads = false
      call.end('late')
      const { statusCode } = await answer.promise
      expect([statusCode, reached]).to.deep.equal([status, status === 200 ? 1 : 0])
    })

  it('drops the statistics of a deleted function', async () => {
    const activator = await world(hello, { startMilliseconds: 1 })
    const given = { spec: { triggers: open('/hello') } }
    activator.put('hello', given)
    await activator.call('/hello')
    activator.remove('hello')
    activator.put('hello', given)
    expect(activator.figures.of('group/shop.hello').buckets).to.deep.equal([])
  })

  it('forwards the body, the path and the response, without Authorization and X-Function-Event', async () => {
    const activator = await world(
      async (request, response) => {
        const { 'x-function-event': event, authorization, cookie } = request.headers
        response.setHeader('x-seen', JSON.stringify({ event, authorization, cookie, url: request.url }))
        response.statusCode = 201
        response.end((await text(request)).toUpperCase())
      },
      { mayRead: async () => true },
    )
    activator.put('echo', { spec: { triggers: open('/echo', { authLevel: 'Platform' }) } })
    const headers = { authorization: 'Bearer abc', 'x-function-event': 'timer', cookie: 'a=b' }
    const answer = await activator.call('/echo/deep?x=1', { method: 'POST', headers, body: 'words' })
    expect([answer.status, answer.text]).to.deep.equal([201, 'WORDS'])
    expect(JSON.parse(String(answer.headers['x-seen']))).to.deep.equal({ cookie: 'a=b', url: '/echo/deep?x=1' })
  })

  const framings: [sentence: string, headers: Record<string, string>][] = [
    ['with Content-Length', { 'content-length': '5' }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['with Content-Length named in Connection', { 'content-length': '5', connection: 'content-length' }],
  ]
  for (const [sentence, headers] of framings)
    it(`forwards a body ${sentence} for every method, and no request inside it`, async () => {
      const asked: string[] = []
      const activator = await world(async (request, response) => {
        asked.push(`${request.method} ${request.url}`)
        response.end((await text(request)).toUpperCase())
      })
      activator.put('echo', { spec: { triggers: open('/echo', { methods: [...HTTP_METHODS] }) } })
      const methods = HTTP_METHODS.filter((method) => method !== 'HEAD')
      for (const method of methods) {
        const answer = await activator.call('/echo', { method, headers, body: 'words' })
        expect([method, answer.status, answer.text]).to.deep.equal([method, 200, 'WORDS'])
      }
      expect(asked).to.deep.equal(methods.map((method) => `${method} /echo`))
    })

  it('limits its connections', async () => {
    const { url } = await world(hello, { maxConnections: 4 })
    await expectBounded(Number(new URL(url).port), 2, () => fetch(url))
  })

  it('wakes no function for a call without a valid key or permission', async () => {
    const secret = 'of the platform'
    const asked: string[] = []
    const activator = await world(hello, {
      digestKey: async () => secret,
      mayRead: async (token, path) => {
        asked.push(path)
        return token === 'good'
      },
    })
    const keySecret = { vaultName: 'safe', secretName: 'Key' }
    activator.put('locked', {
      spec: { triggers: open('/locked', { authLevel: 'Secret', keySecret }) },
      status: { keys: [{ trigger: 'web', digest: keyDigest(secret, 'life', 'web', 'sesame') }] },
    })
    activator.put('mine', { spec: { triggers: open('/mine', { authLevel: 'Platform' }) } })
    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await activator.call(path, { headers })).status
    expect(await statusOf('/locked')).to.equal(401)
    expect(await statusOf('/locked', { 'x-function-key': 'wrong' })).to.equal(401)
    expect(await statusOf('/mine')).to.equal(401)
    expect(await statusOf('/mine', { authorization: 'Bearer bad' })).to.equal(401)
    expect(activator.asked).to.deep.equal([])
    expect(await statusOf('/locked', { 'x-function-key': 'sesame' })).to.equal(200)
    expect(await statusOf('/mine', { authorization: 'Bearer good' })).to.equal(200)
    expect(asked).to.deep.equal([`${SCOPE}/functions/mine`, `${SCOPE}/functions/mine`])
  })

  it('wakes no function for a caller that disconnects during authorization', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<boolean>()
    const activator = await world(hello, {
      mayRead: () => {
        asked.resolve()
        return answer.promise
      },
    })
    activator.put('hello', { spec: { triggers: open('/hello', { authLevel: 'Platform' }) } })
    const { hostname, port } = new URL(activator.url)
    const headers = { host: HOST, authorization: 'Bearer token' }
    const call = request({ hostname, port, path: '/hello', method: 'POST', headers }).on('error', () => {})
    call.write('half of a body')
    await asked.promise
    const closed = new Promise((resolve) => call.on('close', resolve))
    call.destroy()
    await closed
    // A later call is answered after the disconnection was noticed.
    expect((await activator.call('/nothing')).status).to.equal(404)
    answer.resolve(true)
    expect((await activator.call('/nothing')).status).to.equal(404)
    expect(activator.asked).to.deep.equal([])
  })

  it('returns the status for unknown paths and hosts, other methods, ambiguous paths and disabled functions', async () => {
    const activator = await world(hello)
    activator.put('hello', { spec: { triggers: open('/hello') } })
    activator.put('off', { spec: { triggers: open('/off'), enabled: false } })
    const answers: [string, object, number][] = [
      ['/other', {}, 404],
      ['/hello', { method: 'DELETE' }, 405],
      ['/hello/../other', {}, 400],
      ['/off', {}, 503],
      ['/hello', { headers: { host: 'elsewhere.test' } }, 404],
      // Statistics are served on another port.
      ['/calls?namespace=group&name=shop.hello', {}, 404],
    ]
    for (const [path, init, expected] of answers)
      expect([path, (await activator.call(path, init)).status]).to.deep.equal([path, expected])
  })

  it('returns 504 for a call that exceeds timeoutSeconds', async () => {
    const activator = await world(() => {}, { startMilliseconds: 1 })
    activator.put('slow', { spec: { triggers: open('/slow'), timeoutSeconds: 1 } })
    expect((await activator.call('/slow')).status).to.equal(504)
  })

  it('limits the concurrent calls of a namespace', async () => {
    let now = 0
    let most = 0
    const activator = await world(
      async (_, response) => {
        now += 1
        most = Math.max(most, now)
        await new Promise((resolve) => setTimeout(resolve, 10))
        now -= 1
        response.end()
      },
      { maxConcurrency: 2, startMilliseconds: 1 },
    )
    activator.put('one', { spec: { triggers: open('/one') } })
    const answers = await Promise.all(Array.from({ length: 12 }, () => activator.call('/one')))
    expect([new Set(answers.map(({ status }) => status)), most]).to.deep.equal([new Set([200]), 2])
  })

  it('returns 503 with the reason at once for a function that is stalled', async () => {
    const activator = await world(hello, { startMilliseconds: 60_000 })
    const failed = (reason: string) => ({
      image: 'registry.example.com/hello:1',
      conditions: (['False', 'True'] as const).map((status) => ({
        ...{ type: status === 'True' ? 'Stalled' : 'Ready', status, reason },
        ...{ message: 'A name of the tenant.', lastTransitionTime: '2026-11-29T15:00:00Z' },
      })),
    })
    const given = { spec: { triggers: open('/hello'), timeoutSeconds: 300 } }
    activator.put('hello', given)
    const waiting = activator.call('/hello')
    await until('it waits', () => activator.asked.length > 0)
    activator.put('hello', { ...given, status: failed('PlanNotFound') })
    for (const answer of [await waiting, await activator.call('/hello')]) {
      expect([answer.status, JSON.parse(answer.text).code]).to.deep.equal([503, 'FAILED'])
      expect(answer.text).to.contain('PlanNotFound').and.not.contain('tenant')
    }
    activator.put('hello', { ...given, status: failed('ClusterUnreachable') })
    const mayCome = activator.call('/hello')
    activator.remove('hello')
    expect((await mayCome).status).to.equal(404)
  })

  it('returns 404 to waiting calls of a deleted function', async () => {
    const activator = await world(hello, { startMilliseconds: 60_000 })
    activator.put('hello', { spec: { triggers: open('/hello') } })
    const call = activator.call('/hello')
    await until('it waits', () => activator.asked.length > 0)
    activator.remove('hello')
    expect((await call).status).to.equal(404)
  })

  it('returns 503 for the functions of a stopped namespace until it is started', async () => {
    const activator = await world(hello, { startMilliseconds: 1 })
    activator.put('hello', { spec: { triggers: open('/hello') } })
    const statusOf = async () => (await activator.call('/hello')).status
    expect(await statusOf()).to.equal(200)
    activator.putNamespace({ running: false })
    expect(await statusOf()).to.equal(503)
    await until('its copies are gone', () => activator.copies() === 0)
    activator.put('late', { spec: { triggers: open('/late') } })
    expect((await activator.call('/late')).status, 'a function created meanwhile').to.equal(503)
    activator.putNamespace()
    expect(await statusOf()).to.equal(200)
  })
})
