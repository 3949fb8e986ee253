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

describe('the receiver of what the store tells', () => {
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

  it('writes a line for each request, in the order of arrival, into a private file', async () => {
    for (let at = 0; at < 20; at += 1) expect(await tell({ RequestID: `R${at}` })).to.equal(204)
    expect(await ids()).to.deep.equal(Array.from({ length: 20 }, (_, at) => `R${at}`))
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('writes what comes at once, each as one whole line', async () => {
    const wanted = Array.from({ length: 300 }, (_, at) => `R${at}`)
    const answers = await Promise.all(wanted.map((RequestID) => tell({ RequestID, Key: 'é\n'.repeat(500) })))
    expect(new Set(answers)).to.deep.equal(new Set([204]))
    expect(await ids()).to.have.members(wanted)
  })

  it('answers the empty question that the store asks at its start, and writes nothing', async () => {
    expect(await send('')).to.equal(204)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
    expect(lost).to.deep.equal([])
  })

  it('takes nothing without the secret, nor any other method', async () => {
    const body = JSON.stringify(toldEntry())
    for (const headers of [{}, { authorization: '' }, { authorization: `${SECRET}x` }, { authorization: 'Basic' }])
      expect(await send(body, headers as Record<string, string>)).to.equal(401)
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
      expect((await fetch(url(), { method, headers: { authorization: SECRET } })).status).to.equal(405)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
  })

  it('keeps nothing of the platform, but what was refused in its name', async () => {
    for (const HttpStatus of [200, 404, 500]) expect(await tell({ Requester: 'platform', HttpStatus })).to.equal(204)
    await tell({ Requester: 'platform', HttpStatus: 403, RequestID: 'R1' })
    expect(await readdir(folder)).to.deep.equal(['one_refused.jsonl'])
    expect(await ids(bucketLogPath(folder, 'one', 'refused'))).to.deep.equal(['R1'])
    expect(lost).to.deep.equal([])
  })

  it('counts what is no request of the store, and writes nothing of it', async () => {
    const bad = ['{', 'null', '[]', '{}', '\n\n', JSON.stringify({ ...toldEntry(), HttpStatus: '200' })]
    for (const body of bad) expect(await send(body), body).to.equal(400)
    expect(await stat(path).catch(() => 'none')).to.equal('none')
    expect(lost).to.have.length(bad.length)
  })

  it('has a bound for what it reads, above what the store can say of one request', async () => {
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

  it('counts a body that ends before its end', async () => {
    const socket = connect(portOf(), '127.0.0.1')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: ${SECRET}\r\nContent-Length: 100\r\n\r\n{"Ti`)
    await once(server, 'request')
    socket.destroy()
    await until('it is counted', () => lost.length > 0)
    expect(lost).to.deep.equal(['cut off'])
  })

  it('writes what was sent whole, although the store no longer waits for the answer', async () => {
    const body = JSON.stringify(toldEntry({ RequestID: 'R1' }))
    const socket = connect(portOf(), '127.0.0.1')
    socket.end(
      `POST / HTTP/1.1\r\nHost: x\r\nAuthorization: ${SECRET}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    socket.destroySoon()
    await until('it is written', async () => (await ids().catch(() => [])).length === 1)
  })

  for (const [what, Key] of [
    ['ends of lines', `a\n${JSON.stringify(toldEntry({ RequestID: 'FORGED' }))}\n\r\n\u2028\u2029\u0085`],
    ['quotes and backslashes', `"}\n${JSON.stringify(JSON.stringify(toldEntry({ RequestID: 'FORGED' })))}\\`],
    ['control characters', '\u0000\u0001\u001b[2J\u007f'],
    ['half a character', '\ud800'],
    ['names of prototypes', '__proto__'],
  ] as const)
    it(`writes one line of a request whose key holds ${what}`, async () => {
      expect(await tell({ Key, Bucket: 'constructor' })).to.equal(204)
      const [line = '', ...others] = await lines(bucketLogPath(folder, 'constructor', 'done'))
      expect(others).to.deep.equal([])
      expect(parseAccessEntry(line)).to.deep.include({ Key, Bucket: 'constructor' })
    })

  it('writes what is no Unicode as what stands for it, and no field that a request has no place for', async () => {
    const told = JSON.stringify({ ...toldEntry({ Key: 'a#b' }), UserAgent: 'x', constructor: 'y' })
    const body = Buffer.from(told.replace('{', '{"__proto__":{"Key":"z"},'))
    body[body.indexOf('#')] = 0xff
    expect(await send(body)).to.equal(204)
    const [line = ''] = await lines()
    expect(Object.keys(JSON.parse(line))).to.have.members(Object.keys(toldEntry()))
    expect(JSON.parse(line)).to.deep.include({ Key: 'a\ufffdb' })
  })

  it('keeps so many bytes and one older file of them', async () => {
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

  it('begins a line of its own behind the half of one that another process left', async () => {
    await appendFile(path, '{"Key":"a')
    await tell({ RequestID: 'R1' })
    expect(await ids()).to.deep.equal([undefined, 'R1'])
  })

  it('lets requests to other buckets, and of nobody in particular, push nothing out', async () => {
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

  it('writes nothing of what is no bucket of the store, and makes no file of it', async () => {
    for (const Bucket of ['', '.', '..', '../one', 'one/..', 'One', '__proto__', 'none', 'one_done', '/etc'])
      expect(await tell({ Bucket }), Bucket).to.equal(204)
    expect(await readdir(folder)).to.deep.equal([])
    expect(lost).to.deep.equal([])
  })

  it('still writes of a bucket that has just gone, and forgets it when it has long been gone', async () => {
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

  it('says that it could not write, and goes on when it can', async () => {
    await mkdir(path)
    expect(await tell({ RequestID: 'R1' })).to.equal(500)
    expect(lost).to.have.length(1)
    await rm(path, { recursive: true })
    expect(await tell({ RequestID: 'R2' })).to.equal(204)
    expect(await ids()).to.deep.equal(['R2'])
  })
})
