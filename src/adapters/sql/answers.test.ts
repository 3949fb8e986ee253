import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'chai'
import { playPostgresql } from '../../../test/make/playedPostgresql.ts'
import type { Table } from '../../editor/catalogue.ts'
import { DriverEngine } from './engine.ts'
import { isSqlFault, type SqlEngine, type SqlTarget } from './port.ts'
import { postgresqlDriver } from './postgresql.ts'

const MEBIBYTE = 1024 * 1024
describe('DriverEngine, size of results', () => {
  let engine: SqlEngine
  let stop: () => void
  let sent: string[] = []
  const begin = async (size: { rows: number; bytes: number }): Promise<SqlTarget> => {
    sent = []
    const server = createServer((socket) => void playPostgresql(socket, size, sent).catch(() => undefined)).listen(
      0,
      '127.0.0.1',
    )
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

  it('returns all rows of a result below the limit', async () => {
    const target = await begin({ rows: 20, bytes: MEBIBYTE - 1 })
    const { results, failure } = await engine.run(target, request)
    expect(failure).to.equal(undefined)
    expect(results[0]?.rows).to.have.length(20)
  })

  it('reports the bytes that the engine sent, even of a result that is too large', async () => {
    for (const rows of [20, 400]) {
      const byteCounts: number[] = []
      const target = await begin({ rows, bytes: MEBIBYTE - 1 })
      await engine.run(target, request, { onBytes: (bytes) => byteCounts.push(bytes) })
      expect(byteCounts).to.have.length(1)
      expect(byteCounts[0]).to.be.greaterThan(20 * (MEBIBYTE - 1))
      if (rows === 20) {
        await engine.close()
        stop()
      }
    }
  })

  for (const [title, size] of [
    ['many rows', { rows: 400, bytes: MEBIBYTE - 1 }],
    ['one row', { rows: 1, bytes: 200 * MEBIBYTE }],
  ] as const)
    it(`reports RESULT_TOO_LARGE: ${title}`, async () => {
      const target = await begin(size)
      const { results, failure } = await engine.run(target, request)
      expect(results).to.deep.equal([])
      expect(failure?.code).to.equal('RESULT_TOO_LARGE')
    })

  it('reports TooLarge for rows of a table', async () => {
    const target = await begin({ rows: 400, bytes: MEBIBYTE - 1 })
    const request = { table, limit: 1_000, offset: 0, filters: [], sort: undefined }
    const fault = await engine.rows(target, request).catch((error: unknown) => error)
    expect(isSqlFault(fault, 'TooLarge')).to.equal(true)
  })

  it('does not commit after a result that is too large', async () => {
    const target = await begin({ rows: 33, bytes: MEBIBYTE - 1 })
    const { failure } = await engine.run(target, { ...request, isReadOnly: false })
    expect(failure?.code).to.equal('RESULT_TOO_LARGE')
    expect(sent).not.to.include('COMMIT')
  })
})
