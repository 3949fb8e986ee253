import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseAccessEntry } from '../../src/adapters/objectstorage/accessEntry.ts'
import { accessLogReader, bucketLogPath, rotatedLogPath } from '../../src/adapters/objectstorage/accessLog.ts'
import { toldEntry } from '../../test/make/accessLog.ts'
import { until } from '../../test/make/until.ts'
import { BODY_BYTES, createReceiver } from './accessReceiver.ts'

const SECRET = 'Basic c3RvcmU6eA=='

describe('createReceiver', () => {
  let home: string
  let folder: string
  let objects: string
  let path: string
  let server: Server
  let lost: string[]
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'receiver-'))
    folder = join(home, 'access')
    objects = join(home, 'objects')
    path = bucketLogPath(folder, 'one', 'done')
    for (const each of [folder, ...['one', 'two', 'constructor'].map((bucket) => join(objects, bucket))])
      await mkdir(each, { recursive: true })
    lost = []
    await start()
  })
  afterEach(async () => {
    await stop()
    await rm(home, { recursive: true, force: true })
  })

  async function start(fileBytes?: number) {
    const onLost = (why: string) => lost.push(why)
    server = createReceiver({
      folder,
      objects,
      authorization: SECRET,
      platform: 'platform',
      onLost,
      ...(fileBytes && { fileBytes }),
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  async function stop() {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  const portOf = () => (server.address() as AddressInfo).port
  const url = () => `http://127.0.0.1:${portOf()}/`
  async function send(body: string | Buffer, headers: Record<string, string> = { authorization: SECRET }) {
    const answer = await fetch(url(), { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) })
    expect(await answer.text(), 'no answer has a body').to.equal('')
    return answer.status
  }
  const tell = (change: Parameters<typeof toldEntry>[0]) => send(JSON.stringify(toldEntry(change)))
  const lines = async (file = path) => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const ids = async (file?: string) => (await lines(file)).map((line) => parseAccessEntry(line)?.RequestID)

  it('writes one line for each request, in order, with the mode 600', async () => {
    for (let at = 0; at < 20; at += 1) expect(await tell({ RequestID: `R${at}` })).to.equal(204)
    expect(await ids()).to.deep.equal(Array.from({ length: 20 }, (_, at) => `R${at}`))
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('writes 300 concurrent requests as whole lines', async () => {
    const wanted = Array.from({ length: 300 }, (_, at) => `R${at}`)
    const answers = await Promise.all(wanted.map((RequestID) => tell({ RequestID, Key: 'é\n'.repeat(500) })))
    expect(new Set(answers)).to.deep.equal(new Set([204]))
    expect(await ids()).to.have.members(wanted)
  })

  it('returns 204 for an empty body and writes nothing', async () => {
    expect(await send('')).to.equal(204)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
    expect(lost).to.deep.equal([])
  })

  it('returns 401 without the secret and 405 for other methods', async () => {
    const body = JSON.stringify(toldEntry())
    for (const headers of [{}, { authorization: '' }, { authorization: `${SECRET}x` }, { authorization: 'Basic' }])
      expect(await send(body, headers as Record<string, string>)).to.equal(401)
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
      expect((await fetch(url(), { method, headers: { authorization: SECRET } })).status).to.equal(405)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
  })

  it('writes only rejected requests of the platform, as refused', async () => {
    for (const HttpStatus of [200, 404, 500]) expect(await tell({ Requester: 'platform', HttpStatus })).to.equal(204)
    await tell({ Requester: 'platform', HttpStatus: 403, RequestID: 'R1' })
    expect(await readdir(folder)).to.deep.equal(['one_refused.jsonl'])
    expect(await ids(bucketLogPath(folder, 'one', 'refused'))).to.deep.equal(['R1'])
    expect(lost).to.deep.equal([])
  })

  it('returns 400 for invalid entries, counts them and writes nothing', async () => {
    const bad = ['{', 'null', '[]', '{}', '\n\n', JSON.stringify({ ...toldEntry(), HttpStatus: '200' })]
    for (const body of bad) expect(await send(body), body).to.equal(400)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
    expect(lost).to.have.length(bad.length)
  })

  it('accepts the longest possible entry, and returns 400 for a body over BODY_BYTES', async () => {
    const byte = '\\ufffd'
    const most = `{"Key":"${byte.repeat(8_192)}","RequestURI":"${byte.repeat(8_192)}","AccessPointARN":"${byte.repeat(8_192)}",`
    expect(
      await send(
        most +
          JSON.stringify(toldEntry({ RequestID: 'R1' }))
            .slice(1)
            .replace('"Key":"a",', ''),
      ),
    ).to.equal(204)
    const [written] = await lines()
    expect(JSON.parse(written ?? '')).to.deep.include({ RequestID: 'R1', Key: '\ufffd'.repeat(8_192) })
    expect(await send(Buffer.alloc(BODY_BYTES + 1, ' '))).to.equal(400)
    expect(lost).to.deep.equal(['too long'])
  })

  it('counts a truncated body', async () => {
    const socket = connect(portOf(), '127.0.0.1')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: ${SECRET}\r\nContent-Length: 100\r\n\r\n{"Ti`)
    await once(server, 'request')
    socket.destroy()
    await until('it is counted', () => lost.length > 0)
    expect(lost).to.deep.equal(['cut off'])
  })

  it('writes a complete body although the client has closed the connection', async () => {
    const body = JSON.stringify(toldEntry({ RequestID: 'R1' }))
    const socket = connect(portOf(), '127.0.0.1')
    socket.end(
      `POST / HTTP/1.1\r\nHost: x\r\nAuthorization: ${SECRET}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    socket.destroySoon()
    await until('it is written', async () => (await ids().catch(() => [])).length === 1)
  })

  for (const [what, Key] of [
    ['line breaks', `a\n${JSON.stringify(toldEntry({ RequestID: 'FORGED' }))}\n\r\n\u2028\u2029\u0085`],
    ['quotes and backslashes', `"}\n${JSON.stringify(JSON.stringify(toldEntry({ RequestID: 'FORGED' })))}\\`],
    ['control characters', '\u0000\u0001\u001b[2J\u007f'],
    ['half a surrogate pair', '\ud800'],
    ['__proto__', '__proto__'],
  ] as const)
    it(`writes one line for a key with ${what}`, async () => {
      expect(await tell({ Key, Bucket: 'constructor' })).to.equal(204)
      const [line = '', ...others] = await lines(bucketLogPath(folder, 'constructor', 'done'))
      expect(others).to.deep.equal([])
      expect(parseAccessEntry(line)).to.deep.include({ Key, Bucket: 'constructor' })
    })

  it('replaces invalid UTF-8 and drops unknown fields', async () => {
    const told = JSON.stringify({ ...toldEntry({ Key: 'a#b' }), UserAgent: 'x', constructor: 'y' })
    const body = Buffer.from(told.replace('{', '{"__proto__":{"Key":"z"},'))
    body[body.indexOf('#')] = 0xff
    expect(await send(body)).to.equal(204)
    const [line = ''] = await lines()
    expect(Object.keys(JSON.parse(line))).to.have.members(Object.keys(toldEntry()))
    expect(JSON.parse(line)).to.deep.include({ Key: 'a\ufffdb' })
  })

  it('rotates at fileBytes and keeps one older file, with the mode 600', async () => {
    await stop()
    await start(2_000)
    for (let at = 0; at < 40; at += 1) await tell({ RequestID: `R${at}` })
    const [older, newer] = [await ids(rotatedLogPath(path)), await ids()]
    expect([...older, ...newer]).to.deep.equal(
      Array.from({ length: older.length + newer.length }, (_, at) => `R${40 - older.length - newer.length + at}`),
    )
    for (const file of [path, rotatedLogPath(path)]) {
      expect((await stat(file)).size).to.be.lessThan(2_001)
      expect((await stat(file)).mode & 0o777).to.equal(0o600)
    }
  })

  it('starts a new line after a partial one of another process', async () => {
    await appendFile(path, '{"Key":"a')
    await tell({ RequestID: 'R1' })
    expect(await ids()).to.deep.equal([undefined, 'R1'])
  })

  it('keeps entries of a key when other buckets, other keys and anonymous requests flood the log', async () => {
    await stop()
    await start(2_000)
    await tell({ RequestID: 'R1', Operation: 's3_DeleteObject' })
    const flood = { Key: '\ufffd'.repeat(500), Requester: '', HttpStatus: 403 }
    for (let at = 0; at < 20; at += 1) {
      await tell({ ...flood })
      await tell({ ...flood, Bucket: 'two', Requester: 'AKIA2', HttpStatus: 200 })
      await tell({ ...flood, Requester: 'AKIA1', HttpStatus: 400 })
    }
    const found = await accessLogReader(folder, 'platform')(new Set(['one']), 10_000)
    expect(found.map(({ requestId }) => requestId)).to.include('R1')
  })

  it('writes nothing for an invalid or unknown bucket', async () => {
    for (const Bucket of ['', '.', '..', '../one', 'one/..', 'One', '__proto__', 'none', 'one_done', '/etc'])
      expect(await tell({ Bucket }), Bucket).to.equal(204)
    expect(await readdir(folder)).to.deep.equal([])
    expect(lost).to.deep.equal([])
  })

  it('writes for a bucket that was just deleted, and removes its log after 91 days', async () => {
    await tell({ RequestID: 'R1' })
    await tell({ Bucket: 'two' })
    await rm(join(objects, 'one'), { recursive: true })
    await tell({ RequestID: 'R2' })
    expect(await ids()).to.deep.equal(['R1', 'R2'])
    const longAgo = new Date(Date.now() - 91 * 86_400_000)
    await utimes(path, longAgo, longAgo)
    await utimes(bucketLogPath(folder, 'two', 'done'), longAgo, longAgo)
    await stop()
    await start()
    await until('it is forgotten', async () => !(await readdir(folder)).includes('one_done.jsonl'))
    expect(await readdir(folder)).to.deep.equal(['two_done.jsonl'])
  })

  it('returns 500 if it cannot write, and writes again later', async () => {
    await mkdir(path)
    expect(await tell({ RequestID: 'R1' })).to.equal(500)
    expect(lost).to.have.length(1)
    await rm(path, { recursive: true })
    expect(await tell({ RequestID: 'R2' })).to.equal(204)
    expect(await ids()).to.deep.equal(['R2'])
  })
})
