import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import type { Table } from '../../editor/catalogue.ts'
import { DriverEngine } from './engine.ts'
import { isSqlFault, type SqlEngine, type SqlTarget } from './port.ts'
import { postgresqlDriver } from './postgresql.ts'

const MEBIBYTE = 1024 * 1024
const number = (value: number, bytes: 2 | 4) => {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 2) buffer.writeInt16BE(value)
  else buffer.writeInt32BE(value)
  return buffer
}
const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), number(body.length + 4, 4), body])
}
const READY = message('Z', Buffer.from('I'))
const FIELD = [
  Buffer.from('body\0'),
  number(0, 4),
  number(1, 2),
  number(25, 4),
  number(-1, 2),
  number(-1, 4),
  number(0, 2),
]

/** The messages of a client, as they come: the first has no type. */
async function* messagesOf(socket: Socket): AsyncIterable<{ type: string; body: Buffer }> {
  let held = Buffer.alloc(0)
  let at = 0
  for await (const chunk of socket) {
    held = Buffer.concat([held, chunk as Buffer])
    for (let end = lengthOf(held, at); end <= held.length; end = lengthOf(held, at)) {
      yield { type: held.toString('latin1', 0, at), body: held.subarray(at + 4, end) }
      held = held.subarray(end)
      at = 1
    }
  }
}

const lengthOf = (held: Buffer, at: number) =>
  held.length < at + 4 ? Number.POSITIVE_INFINITY : held.readInt32BE(at) + at

/** Speaks as much of PostgreSQL's protocol (version 3.0) as a session needs. Selects give `rows` rows of `bytes` bytes. */
async function play(socket: Socket, { rows, bytes }: { rows: number; bytes: number }, sent: string[]): Promise<void> {
  let text = ''
  const give = async () => {
    const row = message('D', number(1, 2), number(bytes, 4), Buffer.alloc(bytes, 'x'))
    for (let index = 0; index < rows; index += 1) if (!socket.write(row)) await once(socket, 'drain')
    socket.write(message('C', Buffer.from(`SELECT ${rows}\0`)))
  }
  const isSelect = () => /select/i.test(text)
  const answers: Record<string, () => unknown> = {
    '': () => socket.write(Buffer.concat([message('R', number(0, 4)), READY])),
    P: () => socket.write(message('1')),
    B: () => socket.write(message('2')),
    D: () => socket.write(isSelect() ? message('T', number(1, 2), ...FIELD) : message('n')),
    E: () => (isSelect() ? give() : socket.write(message('C', Buffer.from('BEGIN\0')))),
    S: () => socket.write(READY),
  }
  for await (const { type, body } of messagesOf(socket)) {
    if (type === 'P') {
      text = body.toString('latin1').split('\0')[1] ?? ''
      sent.push(text)
    }
    await answers[type]?.()
  }
}

describe('answers of a database', () => {
  let engine: SqlEngine
  let stop: () => void
  let sent: string[] = []
  const begin = async (size: { rows: number; bytes: number }): Promise<SqlTarget> => {
    sent = []
    const server = createServer((socket) => void play(socket, size, sent).catch(() => undefined)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    engine = new DriverEngine(postgresqlDriver)
    stop = () => server.close()
    const { port } = server.address() as AddressInfo
    return { dialect: 'postgresql', host: '127.0.0.1', port, database: 'orders', user: 'app', password: 'secret' }
  }
  afterEach(async () => {
    await engine.close()
    stop()
  })
  const statements = [{ index: 0, text: 'SELECT body FROM posts', parameters: [] }]
  const request = { statements, parameters: {}, isReadOnly: true, maxRows: 10_000, timeoutMilliseconds: 60_000 }
  const column = {
    name: 'body',
    dataType: 'text',
    fullType: 'text',
    encoding: 'text',
    isNullable: true,
    isPrimaryKey: false,
  } as never
  const table: Table = {
    schema: 'public',
    name: 'posts',
    type: 'Table',
    rowEstimate: 1,
    columns: [column],
    primaryKey: [],
    foreignKeys: [],
    isEditable: false,
  }

  it('come whole where they are not too long', async () => {
    const target = await begin({ rows: 20, bytes: MEBIBYTE - 1 })
    const { results, failure } = await engine.run(target, request)
    expect(failure).to.equal(undefined)
    expect(results[0]?.rows).to.have.length(20)
  })

  for (const [title, size] of [
    ['many rows', { rows: 400, bytes: MEBIBYTE - 1 }],
    ['one row', { rows: 1, bytes: 200 * MEBIBYTE }],
  ] as const)
    it(`are given up where they are longer than memory may be taken for them: ${title}`, async () => {
      const target = await begin(size)
      const { results, failure } = await engine.run(target, request)
      expect(results).to.deep.equal([])
      expect(failure?.code).to.equal('RESULT_TOO_LARGE')
    })

  it('are given up the same where rows of a table are read', async () => {
    const target = await begin({ rows: 400, bytes: MEBIBYTE - 1 })
    const asked = { table, limit: 1_000, offset: 0, filters: [], sort: undefined }
    const fault = await engine.rows(target, asked).catch((error: unknown) => error)
    expect(isSqlFault(fault, 'TooLarge')).to.equal(true)
  })

  it('are given up before anything is committed', async () => {
    const target = await begin({ rows: 33, bytes: MEBIBYTE - 1 })
    const { failure } = await engine.run(target, { ...request, isReadOnly: false })
    expect(failure?.code).to.equal('RESULT_TOO_LARGE')
    expect(sent).not.to.include('COMMIT')
  })
})
