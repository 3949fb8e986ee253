import { once } from 'node:events'
import { type IncomingMessage, request as rawRequest } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { Test } from 'supertest'
import { stillClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'

const RG = `/boundaries/${B}/resourcegroups/shop/resources`
const ITEM = `${RG}/vectorclusters/orders`

describe('the facade', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    const limits = { requestsPerMinute: 200, anonymousRequestsPerMinute: 20 }
    server = await startShop({ limits }, { clock: stillClock })
    server.client.calls.length = 0
  })
  afterEach(() => server.stop())
  const as = (call: Test) => call.set('authorization', bearer(OWNER))

  const bodies: [string, (call: Test) => Test, string][] = [
    ['a missing body', (call) => call, 'MODEL_BINDING_FAILED'],
    ['a missing media type', (call) => call.set('content-type', '').send('{}'), 'MODEL_BINDING_FAILED'],
    ['the media type text/plain', (call) => call.type('text/plain').send('{}'), 'MODEL_BINDING_FAILED'],
    ['a form', (call) => call.type('form').send('a=1'), 'MODEL_BINDING_FAILED'],
    [
      'the charset latin1',
      (call) => call.set('content-type', 'application/json; charset=latin1').send('{}'),
      'MODEL_BINDING_FAILED',
    ],
    ['a JSON null', (call) => call.type('json').send('null'), 'MODEL_BINDING_FAILED'],
    ['a JSON array', (call) => call.type('json').send('[]'), 'MODEL_BINDING_FAILED'],
    ['a JSON string', (call) => call.type('json').send('"x"'), 'MODEL_BINDING_FAILED'],
    [
      'a number of 64 KB',
      (call) => call.type('json').send(`{"replicas":${'9'.repeat(65_536)}}`),
      'MODEL_BINDING_FAILED',
    ],
    ['the number 2^53 + 1', (call) => call.type('json').send('{"replicas":9007199254740993}'), 'BAD_REQUEST'],
    ['a body above 1 MiB', (call) => call.type('json').send(`{"a":"${'x'.repeat(1_048_576)}"}`), 'BODY_TOO_LARGE'],
  ]
  for (const [sentence, send, code] of bodies) {
    it(`rejects ${sentence} with 400`, async () => {
      const answer = await send(as(request(server.app).post(ITEM)))
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      expect(answer.body.code).to.equal(code)
      expect(server.client.calls).to.have.length(0)
    })
  }

  it('accepts a request target in absolute form as its path', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const statusOf = async (path: string, host = 'elsewhere.example') => {
      const call = rawRequest({ port, host: '127.0.0.1', path, headers: { host, connection: 'close' } }).end()
      const [answer] = (await once(call, 'response')) as [IncomingMessage]
      answer.resume()
      return answer.statusCode
    }
    expect(await statusOf('http://freehold.example/version')).to.equal(200)
    expect(await statusOf('http://freehold.example/version?nonsense=1')).to.equal(400)
    expect(await statusOf(`http://freehold.example${ITEM}`)).to.equal(401)
    expect(await statusOf('http://freehold.example//version')).to.equal(404)
    expect(await statusOf('http://somebody@freehold.example/version')).to.equal(404)
  })

  it('rejects compressed bodies without decompressing them', async () => {
    const call = as(request(server.app).post(ITEM))
      .set('content-type', 'application/json')
      .set('content-encoding', 'gzip')
    call.write(gzipSync(Buffer.alloc(1_000_000, ' ')))
    expect((await call).body.code).to.equal('MODEL_BINDING_FAILED')
  })

  for (const [sentence, framing] of [
    ['Content-Length', { 'content-length': String(6 * 1_048_576) }],
    ['chunked encoding', { 'transfer-encoding': 'chunked' }],
  ] as const)
    it(`reads a body of 6 MiB with ${sentence} to its end before it rejects it`, async () => {
      const { port } = await server.facade.listen(0, '127.0.0.1')
      const headers = { authorization: bearer(OWNER), 'content-type': 'application/json', ...framing }
      const call = rawRequest({ port, host: '127.0.0.1', path: ITEM, method: 'POST', headers })
      call.end(Buffer.alloc(6 * 1_048_576, ' '))
      // Like clients that read nothing before they have sent everything.
      const [[answer]] = await Promise.all([once(call, 'response') as Promise<[IncomingMessage]>, once(call, 'finish')])
      const [body] = (await once(answer, 'data')) as [Buffer]
      expect([answer.statusCode, JSON.parse(body.toString()).code]).to.deep.equal([400, 'BODY_TOO_LARGE'])
    })

  it('rejects a chunked body of 1 GB while it arrives, with limitBytes', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    let sent = 0
    const answer = await new Promise<{ status: number; body: string; connection: string | undefined }>(
      (resolve, reject) => {
        const headers = {
          authorization: bearer(OWNER),
          'content-type': 'application/json',
          'transfer-encoding': 'chunked',
        }
        const call = rawRequest({ port, host: '127.0.0.1', path: ITEM, method: 'POST', headers }, (response) => {
          let body = ''
          response.on('data', (chunk: Buffer) => {
            body += chunk.toString()
          })
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body, connection: response.headers.connection }),
          )
        })
        call.on('error', (error) => (sent > 1_048_576 ? undefined : reject(error)))
        const chunk = Buffer.alloc(65_536, ' ')
        const more = () => {
          while (!call.destroyed && sent < 1_000_000_000) {
            sent += chunk.length
            if (!call.write(chunk)) {
              call.once('drain', more)
              return
            }
          }
        }
        more()
      },
    )
    expect(answer.status).to.equal(400)
    expect(JSON.parse(answer.body)).to.include({ code: 'BODY_TOO_LARGE', limitBytes: 1_048_576 })
    expect(answer.connection).to.equal('close')
    expect(sent).to.be.below(20_000_000)
  })

  const broken: [string, string][] = [
    ['data that is not HTTP', 'hello\r\n\r\n'],
    ['headers of 20 KB', `GET /version HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a path of 64 KB', `GET /${'a'.repeat(65_536)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [
      'two Content-Length headers',
      'POST /version HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'Content-Length and Transfer-Encoding',
      'POST /version HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a missing Host header', 'GET /version HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a CONNECT request', 'CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n\r\n'],
    ['101 headers', `GET /version HTTP/1.1\r\nHost: x\r\n${'X: a\r\n'.repeat(101)}\r\n`],
    ['HTTP/2.0', 'GET /version HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'the transfer coding gzip',
      'POST /version HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n',
    ],
    ['two Host headers', 'GET /version HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n'],
  ]
  for (const [sentence, text] of broken) {
    it(`returns 400 for ${sentence}`, async () => {
      const { port } = await server.facade.listen(0, '127.0.0.1')
      const answer = await new Promise<string>((resolve) => {
        let received = ''
        const socket = connect(port, '127.0.0.1', () => socket.write(text))
        socket.on('data', (chunk) => {
          received += chunk.toString()
        })
        socket.on('close', () => resolve(received)).on('error', () => {})
      })
      expect(answer).to.match(/^HTTP\/1\.1 400 /)
      const [head = '', body = ''] = answer.split('\r\n\r\n')
      expect(head).to.match(/^Date: /im)
      const { code, correlationId } = JSON.parse(body) as { code: string; correlationId: string }
      expect([code, head.toLowerCase().includes(`x-correlation-id: ${correlationId}`)]).to.deep.equal([
        'BAD_REQUEST',
        true,
      ])
    })
  }

  for (const accept of ['image/png', 'text/html', 'application/json;q=0', 'text/*']) {
    it(`returns 406 for Accept: ${accept}`, async () => {
      const answer = await as(request(server.app).get(`${RG}/vectorclusters`)).set('accept', accept)
      expect([answer.status, answer.body.code]).to.deep.equal([406, 'NOT_ACCEPTABLE'])
      expect(answer.body.supported).to.include('application/json')
    })
  }
  for (const accept of [
    '*/*',
    'application/json',
    'application/*',
    'text/html, application/json;q=0.1',
    'APPLICATION/JSON',
  ]) {
    it(`returns 200 for Accept: ${accept}`, async () => {
      expect((await as(request(server.app).get(`${RG}/vectorclusters`)).set('accept', accept)).status).to.equal(200)
    })
  }

  it('returns 429 for a large body before it is read, after 4 MiB of the caller', async () => {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const calls: ReturnType<typeof rawRequest>[] = []
    const begin = (framing: Record<string, string>) => {
      const headers = { authorization: bearer(OWNER), 'content-type': 'application/json', ...framing }
      const call = rawRequest({ port, host: '127.0.0.1', path: ITEM, method: 'POST', headers })
      calls.push(call.on('error', () => undefined))
      return call
    }
    const announced = { 'content-length': '1048576', expect: '100-continue' }
    const refusal = async (call: ReturnType<typeof rawRequest>) => {
      const [{ statusCode, headers }] = (await once(call, 'response')) as [IncomingMessage]
      return [statusCode, Number(headers['retry-after']) > 0, headers.connection]
    }
    for (let count = 0; count < 4; count += 1) {
      const call = begin(announced)
      call.flushHeaders()
      await once(call, 'continue')
    }
    const late = begin(announced)
    late.flushHeaders()
    expect(await refusal(late)).to.deep.equal([429, true, 'close'])
    const stream = begin({ 'transfer-encoding': 'chunked' })
    stream.write(Buffer.alloc(262_144, ' '))
    expect(await refusal(stream)).to.deep.equal([429, true, 'close'])
    for (const call of calls) call.destroy()
  })

  it('names the route that changes a field which this one does not', async () => {
    const path = `/boundaries/${B}`
    const { status, body } = await as(request(server.app).patch(path)).send({ quota: { cpu: '4' }, quote: 1 })
    expect([status, body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
    const reasons = body.errors.map(({ field, message }: Record<string, string>) => `${field} ${message}`)
    expect(reasons).to.include.members([`quota is changed by PUT ${path}/quota`, 'quote is not a field of this record'])
  })

  it('reports every invalid query parameter at once, the first one as the error', async () => {
    const query = 'page=0&sort=nothing&filter=name:eq:a&filter=size&colour=red'
    const { status, body } = await as(request(server.app).get(`${RG}/vectorclusters?${query}`))
    expect([status, body.code, body.parameter]).to.deep.equal([400, 'BAD_REQUEST', 'page'])
    expect(body.error)
      .to.equal(`page ${body.errors[0].message}`)
      .and.to.match(/^page must be/)
    expect(body.errors.map(({ field }: { field: string }) => field)).to.deep.equal(['page', 'sort', 'filter', 'colour'])
  })

  it('reports missing and unknown query parameters together', async () => {
    const { body } = await as(request(server.app).get(`${RG}/monitoring/vectorclusters/x?from=never&colour=red`))
    expect(body.errors.map(({ field }: { field: string }) => field)).to.have.members([
      ...['colour', 'from', 'to', 'metric', 'aggregation'],
    ])
  })

  for (const query of [
    'a=1',
    'page[a]=1',
    'page=%zz',
    'page=%ff',
    '__proto__=1',
    'filter[]=x',
    `${'a=1&'.repeat(70)}`,
    `search=${'a'.repeat(9000)}`,
  ]) {
    it(`returns 400 for the query ${query.slice(0, 30)}`, async () => {
      const answer = await as(request(server.app).get(`${RG}/vectorclusters?${query}`))
      expect([answer.status, typeof answer.body.parameter]).to.deep.equal([400, 'string'])
    })
  }
})
