import { once } from 'node:events'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { CopyUnreachableError } from './copyConnection.ts'
import { forward, forwardedHeaders } from './proxy.ts'

type Seen = { answer: string; outcome: string }

/** Forwards one call to a copy that answers with these bytes. */
async function called(bytes: string | Buffer, { within = 60_000 } = {}): Promise<Seen> {
  const sockets = new Set<Socket>()
  const copy = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(copy, 'listening')
  const address = `127.0.0.1:${(copy.address() as AddressInfo).port}`
  let outcome = ''
  const front = createHttpServer((from, to) => {
    const signal = AbortSignal.timeout(within)
    const reach = () => Promise.reject(new Error('It is here.'))
    forward(from, to, { address, reach, headers: {}, signal }).then(
      (status) => {
        outcome = String(status)
      },
      () => {
        outcome = 'refused'
        if (to.headersSent) to.destroy()
        else to.writeHead(502).end()
      },
    )
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  try {
    const answer = await new Promise<string>((done) => {
      const asked = request({ port: (front.address() as AddressInfo).port }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('close', () => done(`${response.statusCode} ${text}`.trim()))
      })
      asked.on('error', () => done('broken'))
      asked.end()
    })
    return { answer, outcome }
  } finally {
    for (const socket of sockets) socket.destroy()
    front.closeAllConnections()
    front.close()
    copy.close()
  }
}

describe('forward with a response of a copy', () => {
  const cases: [sentence: string, bytes: string | Buffer, expected: Seen][] = [
    ['of 200', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi', { answer: '200 hi', outcome: '200' }],
    ['of an unknown status, 599', 'HTTP/1.1 599 X\r\nContent-Length: 0\r\n\r\n', { answer: '599', outcome: '599' }],
    ['of 204 after early hints', 'HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 X\r\n\r\n', { answer: '204', outcome: '204' }],
    ...['099', '000', '001'].map((status): [string, string, Seen] => [
      `of the invalid status ${status}`,
      `HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`,
      { answer: '502', outcome: 'refused' },
    ]),
    [
      'of 101 with another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n',
      { answer: '502', outcome: 'refused' },
    ],
    ['of 101 without a protocol', 'HTTP/1.1 101 X\r\n\r\n', { answer: '502', outcome: 'refused' }],
    ['that is not HTTP', 'nonsense\r\n\r\n', { answer: '502', outcome: 'refused' }],
    [
      'with an invalid header',
      Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nX-Odd: a'), Buffer.from([0x7f]), Buffer.from('b\r\n\r\n')]),
      { answer: '502', outcome: 'refused' },
    ],
  ]
  for (const [sentence, bytes, expected] of cases)
    it(`returns ${expected.answer}: ${sentence}`, async () => {
      expect(await called(bytes)).to.deep.equal(expected)
    })

  it('returns 502 at the timeout: of early hints only', async () => {
    expect(await called('HTTP/1.1 103 Hints\r\n\r\n', { within: 300 })).to.deep.equal({
      answer: '502',
      outcome: 'refused',
    })
  })
})

describe('forward of a call with a body', () => {
  it('sends nothing to the copy if the process leads no longer when the body comes', async () => {
    let asked = 0
    const copy = createHttpServer((_request, response) => {
      asked += 1
      response.end()
    }).listen(0, '127.0.0.1')
    await once(copy, 'listening')
    const address = `127.0.0.1:${(copy.address() as AddressInfo).port}`
    const checks: boolean[] = []
    let leads = true
    const connected = Promise.withResolvers<void>()
    const mayBegin = () => {
      checks.push(leads)
      connected.resolve()
      return leads
    }
    const refused = Promise.withResolvers<unknown>()
    const front = createHttpServer((from, to) => {
      const reach = () => Promise.reject(new Error('It is here.'))
      const signal = new AbortController().signal
      forward(from, to, { address, reach, headers: {}, signal, mayBegin }).then(refused.resolve, refused.resolve)
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    const call = request({ port: (front.address() as AddressInfo).port, method: 'POST' })
    call.on('error', () => undefined)
    try {
      call.write('')
      call.flushHeaders()
      await connected.promise
      leads = false
      call.end('late')
      // Another copy may not get it: the body may have left its sender.
      expect(await refused.promise)
        .to.be.instanceOf(Error)
        .and.not.instanceOf(CopyUnreachableError)
      expect([checks, asked]).to.deep.equal([[true, false], 0])
    } finally {
      call.destroy()
      front.closeAllConnections()
      front.close()
      copy.closeAllConnections()
      copy.close()
    }
  })
})

describe('forwardedHeaders', () => {
  const sent = (headers: object) =>
    forwardedHeaders({ host: 'shop.example.com', ...headers }, { authLevel: 'Anonymous' }, '192.0.2.1')

  it('returns the host that was called as X-Forwarded-Host, whatever the caller wrote there', () => {
    expect(sent({ 'x-forwarded-host': 'evil.example' })).to.include({
      host: 'shop.example.com',
      'x-forwarded-host': 'shop.example.com',
    })
  })

  it('adds the address of the caller to X-Forwarded-For, and keeps X-Forwarded-Proto of the proxy in front', () => {
    expect(sent({ 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'http' })).to.include({
      'x-forwarded-for': '198.51.100.7, 192.0.2.1',
      'x-forwarded-proto': 'http',
    })
  })

  it('drops headers that a function in Python or PHP takes for those of the platform, and no others', () => {
    const forged = ['x_function_event', 'x-function_event', 'x_function_key', 'x_forwarded_for', 'x_forwarded-host']
    const given = Object.fromEntries([...forged, 'api_key'].map((name) => [name, 'forged']))
    expect(sent(given)).to.deep.equal({ ...sent({}), api_key: 'forged' })
  })
})
