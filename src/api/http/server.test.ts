import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import type { Response, Test } from 'supertest'
import { badNames } from '../../../test/cases/names.ts'
import { stillClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { currentOrigin } from '../../core/origin.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'

const RG = `/boundaries/${B}/resourcegroups/shop/resources`
const ITEM = `${RG}/vectorclusters/orders`

describe('the facade over HTTP', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop(
      { limits: { requestsPerMinute: 200, anonymousRequestsPerMinute: 20 } },
      { clock: stillClock },
    )
    server.client.calls.length = 0
  })
  afterEach(() => server.stop())
  const as = (call: Test) => call.set('authorization', bearer(OWNER))

  it('sends a correlation id, a traceparent and security headers with each answer', async () => {
    const answer = await as(request(server.app).get(`${RG}/vectorclusters`))
    expect(answer.headers['x-correlation-id']).to.match(/^[0-9a-f-]{36}$/)
    expect(answer.headers.traceparent).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    expect(answer.headers).to.include({ 'x-content-type-options': 'nosniff' })
    expect(answer.headers).to.not.have.property('x-powered-by')
  })

  it('calls the API server on behalf of the caller for reads and writes', async () => {
    const { client } = server
    const get = client.get.bind(client)
    const callers: (string | undefined)[] = []
    client.get = (...given) => {
      callers.push(currentOrigin()?.caller)
      return get(...given)
    }
    const fresh = (call: Test) => as(call).set('cache-control', 'no-cache')
    expect((await fresh(request(server.app).get(ITEM))).status).to.equal(404)
    expect((await fresh(request(server.app).delete(ITEM))).status).to.equal(404)
    expect(callers).to.have.length.at.least(2)
    expect(new Set(callers)).to.deep.equal(new Set([OWNER]))
  })

  it('returns 404 for OPTIONS, also for the paths of pages', async () => {
    const router = express.Router().get(['/', '/version'], (_request, response) => void response.send('a page'))
    const { app, stop } = await startFacade({ pages: [router] })
    try {
      for (const path of ['/', '/version', ITEM]) {
        const { status, body } = await request(app).options(path)
        expect([status, body.code], path).to.deep.equal([404, 'NOT_FOUND'])
      }
      expect((await request(app).get('/')).text).to.equal('a page')
    } finally {
      await stop()
    }
  })

  it('adopts a valid X-Correlation-Id and traceparent, and replaces malformed ones', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const metadata = 'resource_metadata="https://api.test/.well-known/oauth-protected-resource"'
    const answer = await request(server.app)
      .get(ITEM)
      .set('x-correlation-id', 'order-7')
      .set('traceparent', `00-${trace}-b7ad6b7169203331-01`)
    expect(answer.headers['x-correlation-id']).to.equal('order-7')
    expect(answer.headers.traceparent).to.match(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
    expect(answer.body).to.include({
      code: 'UNAUTHORIZED',
      module: 'db-vector',
      correlationId: 'order-7',
      traceId: trace,
    })
    expect(answer.headers['www-authenticate']).to.equal(`Bearer ${metadata}`)
    const wrong = await request(server.app).get(ITEM).set('authorization', 'Bearer nonsense')
    expect(wrong.headers['www-authenticate']).to.equal(`Bearer error="invalid_token", ${metadata}`)
    const forged = await request(server.app)
      .get(ITEM)
      .set('x-correlation-id', 'a b"}{')
      .set('traceparent', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`)
    expect(forged.headers['x-correlation-id']).to.match(/^[0-9a-f-]{36}$/)
    expect(forged.headers.traceparent).to.not.include('0'.repeat(32))
  })

  it('returns timestamps in UTC that kubectl stored with an offset', async () => {
    const path = `/boundaries/${B}/providers/authorization/roleAssignments`
    const id = randomUUID()
    const grant = { principalId: OWNER, principalType: 'User', roleDefinitionName: 'Reader', scope: `/boundaries/${B}` }
    const spec = { ...grant, scopeIncarnation: 'life', expiresAt: '2999-01-01T02:00:00+02:00' }
    server.put(RoleAssignment, id, spec, boundaryNamespace(B))
    const { items } = (await as(request(server.app).get(path))).body as { items: { expiresAt: string }[] }
    expect(items.map(({ expiresAt }) => expiresAt)).to.include('2999-01-01T00:00:00Z')
  })

  it('returns 404 for an unknown path', async () => {
    expect((await request(server.app).get('/nothing')).body).to.include({ code: 'NOT_FOUND', module: 'platform' })
  })

  for (const method of ['options', 'put', 'patch', 'delete'] as const) {
    it(`returns 404 for ${method} on a path without that method`, async () => {
      const call = request(server.app)[method]('/version').set('x-http-method-override', 'GET')
      expect((await call).status).to.equal(404)
    })
  }

  it('limits requests with invalid tokens by address and others by principal', async () => {
    let last: Response | undefined
    for (let index = 0; index < 21; index += 1)
      last = await request(server.app).get(ITEM).set('authorization', 'Bearer x')
    expect([last?.status, last?.body.code]).to.deep.equal([429, 'TOO_MANY_REQUESTS'])
    expect(Number(last?.headers['retry-after'])).to.be.within(1, 60)
    // A caller with a valid token is not limited by a guesser behind the same address.
    expect((await as(request(server.app).get(ITEM))).status).to.equal(404)
    expect((await as(request(server.app).get('/mistyped'))).status).to.equal(404)
    expect((await request(server.app).get('/guessed')).status).to.equal(429)
    for (let index = 0; index < 60; index += 1) last = await as(request(server.app).get(ITEM))
    expect(last?.status).to.equal(429)
  })

  it('sends Connection: close once it drains', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const ask = () => request(`http://127.0.0.1:${port}`).get('/version').set('connection', 'keep-alive')
    expect((await ask()).headers.connection).to.equal('keep-alive')
    server.facade.drain()
    const last = await ask()
    expect([last.status, last.headers.connection]).to.deep.equal([200, 'close'])
  })

  it('returns 503 until it is ready, except on anonymous routes', async () => {
    let isReady = false
    const starting = await startFacade({ isReady: () => isReady })
    try {
      const answer = await as(request(starting.app).get(ITEM))
      expect([answer.status, answer.body.code, answer.headers['retry-after']]).to.deep.equal([
        503,
        'SERVICE_UNAVAILABLE',
        '1',
      ])
      expect((await request(starting.app).get('/version')).status).to.equal(200)
      isReady = true
      expect((await as(request(starting.app).get(ITEM))).status).to.equal(403)
    } finally {
      await starting.stop()
    }
  })

  describe('with stale caches', () => {
    let age: number
    beforeEach(async () => {
      await server.stop()
      server = await startShop({ staleness: { age: () => age, bound: 60_000 } })
    })
    const read = (...headers: [string, string][]) =>
      headers.reduce((call, header) => call.set(...header), as(request(server.app).get(`/boundaries/${B}`)))

    it('sends the Age header', async () => {
      age = 12_400
      const { status, headers } = await read()
      expect([status, headers.age, headers.warning]).to.deep.equal([200, '12', undefined])
    })

    it('returns 503 for reads and writes once the caches are older than 60 s', async () => {
      age = 60_001
      for (const call of [read(), as(request(server.app).patch(`/boundaries/${B}`)).send({ displayName: 'x' })]) {
        const { status, headers, body } = await call
        expect([status, headers['retry-after'], body.code]).to.deep.equal([503, '5', 'SERVICE_UNAVAILABLE'])
      }
    })

    it('sends no Age header below 2 s, nor for a read with no-cache', async () => {
      age = 1_900
      expect((await read()).headers).to.not.have.property('age')
      age = 30_000
      expect((await read(['cache-control', 'no-cache'])).headers).to.not.have.property('age')
    })

    it('still serves anonymous routes', async () => {
      age = 60_001
      expect((await request(server.app).get('/version')).status).to.equal(200)
    })
  })

  it('answers HEAD with the headers of GET and no body', async () => {
    const answer = await request(server.app).head('/version')
    expect(answer.status).to.equal(200)
    expect(Number(answer.headers['content-length'])).to.be.above(10)
    expect(answer.text).to.equal(undefined)
  })

  const ambiguous: [sentence: string, lines: string, path?: string, status?: string][] = [
    ['two Host headers', 'Host: x\r\nHost: y\r\n'],
    ['no Host header', ''],
    ['an unsupported transfer coding', 'Host: x\r\nTransfer-Encoding: gzip, chunked\r\n'],
    ['two Authorization headers', 'Host: x\r\nAuthorization: a\r\nAuthorization: b\r\n', `/boundaries/${B}`, '401'],
    [
      'two Authorization headers on an unknown path',
      'Host: x\r\nAuthorization: a\r\nAuthorization: b\r\n',
      '/nothing',
      '404',
    ],
  ]
  for (const [sentence, lines, path = '/version', status = '400'] of ambiguous) {
    it(`limits ambiguous requests by address: ${sentence}`, async () => {
      const { port } = await server.facade.listen(0, '127.0.0.1')
      const statuses: (string | undefined)[] = []
      for (let at = 0; at < 25; at += 1) {
        const socket = connect(port, '127.0.0.1')
        socket.end(`GET ${path} HTTP/1.1\r\nConnection: close\r\n${lines}\r\n`)
        const [first] = (await once(socket, 'data')) as [Buffer]
        statuses.push(/^HTTP\/1.1 (\d+)/.exec(String(first))?.[1])
        socket.destroy()
      }
      expect(statuses.slice(0, 20)).to.deep.equal(Array(20).fill(status))
      expect(statuses.slice(20)).to.deep.equal(Array(5).fill('429'))
    })
  }

  it('names the address that is taken', async () => {
    const holder = createServer()
    await once(holder.listen(0, '127.0.0.1'), 'listening')
    const { port } = holder.address() as AddressInfo
    const failure = await server.facade.listen(port, '127.0.0.1').catch((error: Error) => error.message)
    holder.close()
    expect(failure).to.equal(`The facade cannot listen on 127.0.0.1:${port}.`)
  })

  it('closes a connection that pipelines 5000 requests, and still serves others', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000))
    await closed
    expect((await request(`http://127.0.0.1:${port}`).get('/version')).status).to.equal(200)
  })

  it('returns 401 for two Authorization headers', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        const headers = [
          `Authorization: ${bearer(OWNER)}`,
          `Authorization: ${bearer(OWNER)}`,
          'Host: x',
          'Connection: close',
        ]
        socket.write(`GET ${RG}/vectorclusters HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
      })
      let text = ''
      socket.on('data', (chunk) => (text += String(chunk)))
      socket.once('end', () => resolve(text))
      socket.once('error', reject)
    })
    expect(answer).to.match(/^HTTP\/1.1 401 /)
    expect(answer).to.include('more than one Authorization header')
  })

  it('hides the message of an internal error', async () => {
    server.client.fail('create', VectorCluster.resource, () => {
      throw new Error('secret of the inside')
    })
    const answer = await as(request(server.app).post(ITEM)).send({})
    expect([answer.status, answer.body.code]).to.deep.equal([500, 'INTERNAL_ERROR'])
    expect(JSON.stringify(answer.body)).to.not.include('secret')
  })

  it('reads from the API server with Cache-Control: no-cache', async () => {
    await as(request(server.app).post(ITEM)).send({})
    server.client.calls.length = 0
    await as(request(server.app).get(ITEM))
    expect(server.client.calls).to.have.length(0)
    await as(request(server.app).get(ITEM)).set('cache-control', 'no-cache')
    expect(server.client.calls.map(({ verb, resource }) => [verb, resource])).to.deep.equal([
      ['get', 'vectorclusters.data.freehold.dev'],
    ])
  })

  it('gives the same answer for a missing and a hidden boundary', async () => {
    const other = '99999999-9999-4999-8999-999999999999'
    server.boundary(other)
    const bodies: unknown[] = []
    for (const id of [other, '88888888-8888-4888-8888-888888888888']) {
      const { status, body } = await as(request(server.app).get(`/boundaries/${id}/resources/vectorcomputeplans`))
      bodies.push([status, body.code, body.error.replace(id, '')])
    }
    expect(bodies[0]).to.deep.equal(bodies[1])
  })

  for (const [sentence, name] of badNames) {
    it(`creates nothing under a name with ${sentence}`, async () => {
      const encoded = `${RG}/vectorclusters/${encodeURIComponent(name)}`
      const made = await as(request(server.app).post(encoded)).send({})
      expect([400, 404]).to.include(made.status)
      expect((await as(request(server.app).get(encoded)).set('cache-control', 'no-cache')).status).to.equal(404)
      expect(server.client.calls.filter(({ resource }) => resource.startsWith('vectorclusters'))).to.have.length(0)
    })
  }
  it('tries at least 40 bad names', () => expect(badNames.length).to.be.at.least(40))

  it('rejects reserved names', async () => {
    for (const name of ['config', 'validate', 'vectorclusters', 'apps', 'jobs']) {
      const answer = await as(request(server.app).post(`${RG}/vectorclusters/${name}`)).send({})
      expect([400, 404], name).to.include(answer.status)
    }
    expect(await server.client.list(VectorCluster.resource, { namespace: groupNamespace(B, 'shop') })).to.have.property(
      'items',
    ).that.is.empty
  })
})
