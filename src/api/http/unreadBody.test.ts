import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock, stillClock } from '../../../test/make/clock.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { blobBuildLogs } from '../../adapters/buildlogs/client.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { DrainOptions } from '../../core/unreadBody.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { send } from './sending.ts'

const APP = `/boundaries/${B}/resourcegroups/shop/resources/apps/web`
const SOURCE = '55555555-5555-4555-8555-555555555555'
const FREE = { turn: () => undefined, spend: () => undefined }
const LOGS = `${APP}/deployments/${SOURCE}/logs`
const PIECE = 'x'.repeat(65_536)

describe('a client that sends its whole body before it reads', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let port: number
  before(async () => {
    const keep: SourceArchives['keep'] = async (_, archive) => {
      for await (const _piece of archive) throw new ArchiveRefusedError('It is none.')
      throw new Error('It was empty.')
    }
    const logs = blobBuildLogs(fakeBlobs())
    server = await startShop(
      {},
      { deployments: { logs, archives: { keep }, podOf: () => undefined }, clock: stillClock },
    )
    server.put(PlatformApp, 'web', { sourceKind: 'Upload' }, groupNamespace(B, 'shop'))
    const source = { displayName: 'Git', provider: 'GitHub', baseUrl: 'https://github.com', installationId: '1' }
    server.put(DeploymentSource, SOURCE, source, boundaryNamespace(B))
    port = (await server.facade.listen(0, '127.0.0.1')).port
  })
  after(async () => {
    await server.facade.stop(0)
    await server.stop()
  })

  const routes: [sentence: string, method: string, path: string, headers: Record<string, string>, code: string][] = [
    ['an uploaded source', 'PUT', `${APP}/source`, { 'content-type': 'application/gzip' }, 'BAD_REQUEST'],
    [
      'a form that requests a registry token',
      'POST',
      '/registry/auth/token',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'BODY_TOO_LARGE',
    ],
    [
      'a webhook delivery of a Git host',
      'POST',
      `/boundaries/${B}/sources/github/webhooks?source=${SOURCE}`,
      { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'x-github-event': 'push' },
      'BODY_TOO_LARGE',
    ],
  ]
  for (const [sentence, method, path, headers, expected] of routes) {
    it(`receives the reason of a 400: ${sentence}`, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      const head = { host: 'x', authorization: bearer(OWNER), 'transfer-encoding': 'chunked', ...headers }
      const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(head).map(([name, value]) => `${name}: ${value}`)]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      for (let piece = 0; piece < 40; piece += 1) {
        socket.write(`${PIECE.length.toString(16)}\r\n${PIECE}\r\n`)
        for (let turn = 0; turn < 50; turn += 1) await setImmediate()
      }
      const answer = (await buffer(socket.end('0\r\n\r\n'))).toString()
      const { code } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
      expect([answer.slice(9, 12), code], answer).to.deep.equal(['400', expected])
    })
  }

  it('receives 400 for 7 MiB that are not JSON, then 429 for the next ones', async () => {
    const headers = { 'content-type': 'application/json', authorization: bearer(OWNER), connection: 'close' }
    for (const expected of ['400', '429']) {
      const socket = await begun(port, `POST ${LOGS}`, { ...headers, 'content-length': `${7 * 16 * PIECE.length}` })
      await sendAll(socket, 7 * 16)
      expect((await text(socket)).slice(9, 12)).to.equal(expected)
    }
  })

  const unread: [sentence: string, line: string, token: string | undefined, mebibytes: number, status: string][] = [
    ['without a token', `POST ${LOGS}`, undefined, 7, '401'],
    ['without permission', `DELETE ${APP}`, bearer(SOURCE), 7, '403'],
    ['on an unknown path', 'POST /nothing', undefined, 7, '404'],
    ['of 20 MiB', `POST ${APP}`, bearer(OWNER), 20, '400'],
    ['with a GET', 'GET /version', bearer(OWNER), 7, '200'],
  ]
  for (const [sentence, line, token, mebibytes, expected] of unread) {
    it(`receives ${expected} and Connection: close for an unread body ${sentence}`, async () => {
      const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: token }) }
      const socket = await begun(port, line, { ...headers, 'content-length': `${mebibytes * 16 * PIECE.length}` })
      await sendAll(socket, mebibytes * 16)
      const answer = (await buffer(socket)).toString()
      expect(answer.slice(9, 12), answer).to.equal(expected)
      expect(answer.toLowerCase()).to.contain('connection: close')
    })
  }

  it('receives 404 before the end of a short body with Connection: close', async () => {
    const socket = await begun(port, 'POST /nothing', { 'content-length': '60000', connection: 'close' })
    const [first] = await once(socket, 'data')
    expect(String(first)).to.contain('404')
    socket.write('x'.repeat(30_000))
    for (let turn = 0; turn < 50; turn += 1) await setImmediate()
    await new Promise((resolve) => socket.write('x'.repeat(30_000), resolve))
    await once(socket.resume(), 'end')
  })

  it('reuses its connection after a short unread body', async () => {
    const socket = await begun(port, 'POST /nothing', { 'content-length': '60000' })
    const answers = text(socket)
    socket.write('x'.repeat(30_000))
    for (let turn = 0; turn < 50; turn += 1) await setImmediate()
    socket.write('x'.repeat(30_000))
    socket.end('GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

async function begun(port: number, line: string, headers: Record<string, string>): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const all = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}`)
  socket.write(`${[`${line} HTTP/1.1`, ...all].join('\r\n')}\r\n\r\n`)
  return socket
}

/** @returns how many pieces were sent before the connection was closed */
async function sendAll(socket: Socket, pieces: number): Promise<number> {
  let goOn = () => {}
  const wake = () => goOn()
  socket.on('error', wake).on('close', wake).on('drain', wake)
  for (let piece = 0; piece < pieces; piece += 1) {
    if (socket.destroyed) return piece
    const { promise, resolve } = Promise.withResolvers<void>()
    goOn = resolve
    if (!socket.write(PIECE)) await promise
  }
  return pieces
}

describe('draining of a body after its answer', () => {
  const clock = new ManualClock()
  let pay: DrainOptions['pay']
  let server: Server
  let port: number
  before(async () => {
    server = createServer((request, response) => {
      const dropping = { clock, pay: (bytes: number) => pay(bytes) }
      void send(request, response, { status: 404, body: { code: 'NOT_FOUND' } }, { ...FREE, dropping })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  beforeEach(() => {
    pay = () => 0
  })
  after(() => server.close())

  const unended = () => begun(port, 'POST /', { 'content-length': String(2 ** 40) })
  const answered = async (socket: Socket) => expect(String((await once(socket, 'data'))[0])).to.contain('NOT_FOUND')

  it('ends the connection after between 900 and 2,500 pieces of 64 KiB', async () => {
    const socket = await unended()
    socket.resume()
    expect(await sendAll(socket, 3_000)).to.be.within(900, 2_500)
  })

  it('ends the connection after 5 s without data', async () => {
    const socket = await unended()
    await answered(socket)
    await clock.advance(4_999)
    expect(socket.readableEnded).to.equal(false)
    await Promise.all([once(socket, 'end'), clock.advance(1)])
  })

  it('ends the connection after 30 s of single bytes every 4 s', async () => {
    const socket = await unended()
    await answered(socket)
    const ended = once(socket, 'end')
    for (let second = 0; second < 28; second += 4) {
      const nextPayment = new Promise<void>((resolve) => {
        pay = () => {
          resolve()
          return 0
        }
      })
      socket.write('x')
      await nextPayment
      await clock.advance(4_000)
    }
    expect(socket.readableEnded).to.equal(false)
    await Promise.all([ended, clock.advance(2_000)])
  })

  it('reads at the rate of the caller, and closes the connection when it owes too much', async () => {
    const socket = await unended()
    socket.once('error', () => undefined)
    await answered(socket)
    const waits = [1_000, undefined]
    let payments = 0
    const nextPayment = () =>
      new Promise<void>((resolve) => {
        pay = () => {
          payments += 1
          resolve()
          return waits.shift()
        }
      })
    const first = nextPayment()
    socket.write(PIECE)
    await first
    const second = nextPayment()
    socket.write(PIECE)
    await clock.advance(999)
    expect(payments).to.equal(1)
    const closed = once(socket, 'close')
    await Promise.all([second, closed, clock.advance(1)])
    expect(payments).to.equal(2)
  })
})
