import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { MARIADB_GREETING, mariadbPacket, mariadbTranscript, playMariadb } from '../../../test/make/playedMariadb.ts'
import { playPostgresql, postgresqlTranscript } from '../../../test/make/playedPostgresql.ts'
import { createAuthority, issueCertificate } from '../../composition/certificates.ts'
import type { SqlDriver } from './driver.ts'
import { DriverEngine } from './engine.ts'
import { mariadbDriver } from './mariadb.ts'
import { mssqlDriver } from './mssql.ts'
import { isSqlFault } from './port.ts'
import { postgresqlDriver } from './postgresql.ts'

const MEBIBYTE = 1024 * 1024
/** More than may be in flight between two checks. */
const MOST = 256 * MEBIBYTE

/** Sends data without an end, as fast as it is read. */
async function flood(socket: Socket, piece: (index: number) => Buffer): Promise<void> {
  const closed = once(socket, 'close')
  for (let index = 0; !socket.destroyed; index += 1)
    if (!socket.write(piece(index))) await Promise.race([once(socket, 'drain'), closed])
}

const X = Buffer.alloc(MEBIBYTE, 'x')
const GIBIBYTE = Buffer.from([0x40, 0, 0, 0])

type Played = [title: string, driver: SqlDriver, play: (socket: Socket, index: number) => unknown, timeout?: number]

/** Endless answers of a malicious engine. */
const PLAYED: Played[] = [
  [
    'PostgreSQL during authentication',
    postgresqlDriver,
    (socket) => {
      socket.write(Buffer.concat([Buffer.from('R'), GIBIBYTE]))
      return flood(socket, () => X)
    },
  ],
  [
    'PostgreSQL during a query',
    postgresqlDriver,
    (socket) => playPostgresql(socket, { rows: Number.POSITIVE_INFINITY, bytes: MEBIBYTE }, []),
  ],
  [
    'MariaDB during authentication',
    mariadbDriver,
    (socket) => {
      socket.write(MARIADB_GREETING)
      return flood(socket, (index) => mariadbPacket(index, Buffer.alloc(0xffffff, 'x')))
    },
  ],
  [
    'MariaDB during a query, ignoring the request to kill it',
    mariadbDriver,
    (socket, index) =>
      index === 0 &&
      playMariadb(socket, (sequence, text) => {
        if (!text.includes('information_schema')) return false
        socket.write(mariadbPacket(sequence, Buffer.from([1])))
        void flood(socket, (at) => mariadbPacket(sequence + 1 + at, Buffer.alloc(0xffffff, 'x')))
        return true
      }),
  ],
  [
    'SQL Server during authentication',
    mssqlDriver,
    (socket) =>
      flood(socket, () => Buffer.concat([Buffer.from([4, 0, 0x7f, 0xff, 0, 0, 0, 0]), X.subarray(0, 0x7ff7)])),
    // Only the timeout ends it.
    3_000,
  ],
]

const targetAt = (port: number, { dialect }: Pick<SqlDriver, 'dialect'>) => ({
  ...{ dialect, host: '127.0.0.1', port, database: 'a', user: 'app', password: 'secret' },
})

describe('DriverEngine, connected to a server that sends without an end', () => {
  let server: Server
  let sockets: Socket[]
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  for (const [title, driver, play, timeout] of PLAYED)
    it(`gives up on ${title}`, async () => {
      sockets = []
      const ended = Promise.withResolvers<number>()
      server = createServer((socket) => {
        const index = sockets.push(socket) - 1
        if (index === 0) socket.on('close', () => ended.resolve(socket.bytesWritten - socket.writableLength))
        socket.on('error', () => undefined)
        void Promise.resolve(play(socket, index)).catch(() => undefined)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const engine = new DriverEngine(driver, { timeout })
      const target = targetAt(port, driver)
      const fault = await engine.catalogue(target).catch((error: unknown) => error)
      expect(isSqlFault(fault, 'TooLarge', 'Unreachable')).to.equal(true)
      expect(await ended.promise).to.be.lessThan(MOST)
      await engine.close()
    })
})

describe('mariadbDriver', () => {
  it('ignores the error of a KILL that comes too late', async () => {
    const [unhandled, killed] = [[] as unknown[], Promise.withResolvers<void>()]
    const hear = (reason: unknown) => void unhandled.push(reason)
    const earlier = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', hear)
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      void playMariadb(socket, (sequence, text) => {
        if (text.startsWith('KILL')) {
          const unknown = Buffer.concat([Buffer.from([0xff, 0x46, 0x04]), Buffer.from('#HY000Unknown thread id: 7')])
          socket.write(mariadbPacket(sequence, unknown))
          socket.once('close', () => killed.resolve())
          return true
        }
        return text.startsWith('SELECT SLEEP')
      }).catch(() => undefined)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const session = await mariadbDriver.open(targetAt(port, mariadbDriver), {
      isReadOnly: true,
      timeoutMilliseconds: 60_000,
    })
    const running = session.query('SELECT SLEEP(60)').catch(String)
    session.cancel()
    await killed.promise
    await running
    session.close()
    // Node reports unhandled rejections after the current tasks.
    await new Promise((done) => setImmediate(() => setImmediate(done)))
    process.removeListener('unhandledRejection', hear)
    for (const listener of earlier) process.on('unhandledRejection', listener)
    server.close()
    expect(unhandled).to.deep.equal([])
  })
})

describe('DriverEngine, connected to a server that sends malformed bytes', () => {
  // An uncaught error of a driver fails the test.
  for (const [driver, transcript] of [
    [postgresqlDriver, postgresqlTranscript()],
    [mariadbDriver, mariadbTranscript()],
  ] as const)
    it(`rejects the call, whichever byte of the ${driver.dialect} handshake is wrong`, async () => {
      const wrong: Buffer[] = []
      for (const at of transcript.keys())
        for (const value of [0, 0x7f, 0xff]) {
          const bytes = Buffer.from(transcript)
          bytes[at] = value
          wrong.push(bytes)
        }
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.end(wrong.pop() ?? '')
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const engine = new DriverEngine(driver)
      const { port } = server.address() as AddressInfo
      const target = targetAt(port, driver)
      while (wrong.length > 0) {
        const some = Array.from({ length: 50 }, () => engine.catalogue({ ...target, user: `app${wrong.length}` }))
        for (const { status } of await Promise.allSettled(some)) expect(status).to.equal('rejected')
      }
      await engine.close()
      server.close()
    })

  it('rejects the call over TLS too', async () => {
    const authority = await createAuthority('engines', new Date())
    const request = { commonName: 'engine', purpose: 'server', names: ['localhost'] } as const
    const { certPem: cert, keyPem: key } = await issueCertificate(authority, request, new Date())
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        socket.write('S')
        const secure = new TLSSocket(socket, { isServer: true, cert, key })
        secure.on('error', () => undefined).end(Buffer.from('R\0\0\0\u0008\0\0\0c'))
      })
    }).listen(0, 'localhost')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const engine = new DriverEngine(postgresqlDriver)
    const login = { database: 'a', user: 'app', password: 'secret', certificateAuthority: authority.certPem }
    const fault = await engine
      .catalogue({ dialect: 'postgresql', host: 'localhost', port, ...login })
      .catch((error) => error)
    expect(isSqlFault(fault, 'Unreachable')).to.equal(true)
    expect(String(fault.cause)).to.contain('authenticationOk')
    server.close()
  })
})
