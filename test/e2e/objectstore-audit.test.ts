import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { AuditRecord, ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import type { AccessKeyPair } from '../../src/contracts/objectstorage.ts'
import { logged } from '../make/accessLog.ts'
import { type RawAnswer, type RawRequest, sendRaw } from '../make/rawStoreRequest.ts'
import { until } from '../make/until.ts'
import { nobodysUser, settings } from '../suites/objectStoreContract.ts'
import { testPlatform } from '../worlds/tenant.ts'

const quote = encodeURIComponent
/** A key as signatures encode it. */
const quoteKey = (key: string) => key.split('/').map(quote).join('/')

describe('the audit of versitygw under hostile requests', () => {
  const running = testPlatform().store
  let store: ObjectStore
  let bucket: string
  let own: AccessKeyPair
  let foreign: string
  let attacker: AccessKeyPair
  before(function () {
    if (running === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    const { endpoint, usersEndpoint: iamEndpoint, accessKeyId, secretAccessKey, accessLog } = running
    store = openStore({
      ...{ driver: DRIVERS.versitygw, version: '', endpoint, iamEndpoint, publicEndpoint: undefined, accessLog },
      ...{ regionName: 'us-east-1', credentials: { accessKeyId, secretAccessKey } },
    })
  })
  after(() => store?.close())
  beforeEach(async () => {
    const tail = randomUUID().slice(0, 8)
    bucket = `own-${tail}`
    foreign = `foreign-${tail}`
    own = await opened(bucket)
    attacker = await opened(foreign)
  })

  async function opened(name: string): Promise<AccessKeyPair> {
    await store.ensureBucket(settings(name))
    const grants = [{ bucket: name, permission: 'Admin' }] as const
    const request = { user: nobodysUser(), isActive: true, grants, among: [name], known: undefined }
    return store.ensureKey({ ...request, keep: async () => undefined })
  }
  const send = (request: RawRequest) => sendRaw(running?.endpoint ?? '', request)
  const ask = (method: string, key: string, pair = own, name = bucket) => {
    const path = `/${name}${key === '' ? '' : `/${quoteKey(key)}`}`
    return send({ method, target: path, signed: { pair, path } })
  }
  /** The log of a bucket once it contains this request: the store reports later requests later. */
  const auditWith = (last: RawAnswer, name = bucket) =>
    until('the audit contains the request', async () => {
      const found = await store.audit(new Set([name]), 10_000)
      return found.some(({ requestId }) => requestId === last.requestId) && found
    })
  const recordOf = (records: readonly AuditRecord[], { requestId }: RawAnswer) =>
    records.find((record) => record.requestId === requestId)

  /** Log lines, in the present and the former format, of a request to the bucket that was never made. */
  const forgedLines = () => [
    logged({ Bucket: bucket, Key: 'FORGED', RequestID: 'FORGED', Requester: own.accessKeyId, RemoteIP: '6.6.6.6' }),
    `freehold ${bucket} [28/November/2026:18:44:35 +0000] 6.6.6.6 ${own.accessKeyId} FORGED s3_DeleteObject FORGED /${bucket}/FORGED 204 - 0 1 2 2 - - - x SigV4 - AuthHeader s3.us-east-1.amazonaws.com - arn:aws:s3:::/${bucket}/FORGED Yes\n`,
  ]

  it('contains no entry forged without a key, and hides none', async () => {
    expect((await ask('PUT', 'real')).status).to.equal(200)
    const answers: RawAnswer[] = []
    for (const line of forgedLines()) {
      const [inKey, inBucket] = [`x/${quote(`a\n${line}`)}`, quote(`a\n${line}`)]
      for (const target of [
        ...[`//%0A@h/${inKey}?x=://`, `//%zz@h/${inKey}?x=://`, `//%0A@h/${inBucket}?x=://`, `http://%0A@h/${inKey}`],
        ...[`/${inKey}`, `/${inBucket}`, `/${bucket}/${inBucket}`, `/${bucket}/a?versionId=${inBucket}`],
        ...[`//%0A@h/x/a%0Ab?x=://`, `//h%0A/?versionId=1&x=://`, `//h/${bucket}/${inBucket}?x=://`],
      ])
        answers.push(await send({ target, headers: { 'user-agent': line.trim(), referer: line.trim() } }))
      answers.push(await send({ target: `//%0A@h/${inKey}`, host: '' }))
      answers.push(await send({ target: `//%zz@h/${inKey}`, protocol: 'HTTP/1.0', host: undefined }))
    }
    expect(answers.filter(({ requestId }) => requestId !== undefined).length, 'are answered').to.be.greaterThan(20)
    const last = await ask('GET', 'real')
    const found = await auditWith(last)
    const mine = found.filter(({ accessKeyId }) => accessKeyId !== undefined)
    expect(mine.map((record) => [record.operation, record.key, record.remoteAddress])).to.deep.equal([
      ['GetObject', 'real', '127.0.0.1'],
      ['PutObject', 'real', '127.0.0.1'],
    ])
    const known = new Set(answers.map(({ requestId }) => requestId))
    for (const record of found.filter(({ accessKeyId }) => accessKeyId === undefined)) {
      expect(known).to.include(record.requestId)
      expect(record.statusCode, record.errorCode).to.be.within(400, 501)
    }
  })

  it('contains no entry forged through the text of an error', async () => {
    for (const line of forgedLines())
      expect((await ask('PUT', `y\n${line}\nz/meta/etag`, attacker, foreign)).status).to.equal(200)
    for (let times = 0; times < 3; times += 1) expect((await ask('GET', '', attacker, foreign)).status).to.equal(500)
    const failed = await ask('GET', '', attacker, foreign)
    const audit = await auditWith(failed, foreign)
    expect(recordOf(audit, failed)).to.include({ statusCode: 500, accessKeyId: attacker.accessKeyId })
    const found = await auditWith(await ask('PUT', 'real'))
    expect(found.map(({ operation, key }) => [operation, key])).to.deep.equal([['PutObject', 'real']])
  })

  it('contains each request of the holder of a key, however it is encoded', async () => {
    const forged = forgedLines().join('\n')
    const ways: readonly [key: string, request: (method: string) => RawRequest][] = [
      [
        'own1',
        (method) => ({
          ...{ method, target: `//h/${bucket}/own1?x=://` },
          signed: { pair: own, path: `/${bucket}/own1`, query: 'x=%3A%2F%2F' },
        }),
      ],
      [
        'x€',
        (method) => ({
          ...{ method, target: `/${bucket}/x\xe2%82%AC` },
          signed: { pair: own, path: `/${bucket}/x%E2%82%AC` },
        }),
      ],
      ...['a\nb', `a\n${forged.slice(0, 200)}`, '\u2028"}', '__proto__', 'constructor', 'a\u0001b', '-'].map(
        (key): [string, (method: string) => RawRequest] => [
          key,
          (method) => ({
            ...{
              method,
              target: `/${bucket}/${quoteKey(key)}`,
              signed: { pair: own, path: `/${bucket}/${quoteKey(key)}` },
            },
          }),
        ],
      ),
    ]
    const done: [answer: RawAnswer, operation: string, key: string][] = []
    for (const [key, requestFor] of ways)
      for (const [method, operation] of [
        ['PUT', 'PutObject'],
        ['DELETE', 'DeleteObject'],
      ] as const) {
        const answer = await send(requestFor(method))
        expect(answer.status, `${method} ${key}`).to.be.oneOf([200, 204])
        done.push([answer, operation, key])
      }
    const last = await ask('GET', 'none')
    const found = await auditWith(last)
    expect(found).to.have.length(done.length + 1)
    for (const [answer, operation, key] of done)
      expect(recordOf(found, answer), `${operation} ${key}`).to.include({
        ...{ operation, key, bucket, statusCode: 200, accessKeyId: own.accessKeyId },
      })
  })

  it('contains the largest request that the store accepts', async () => {
    const bytes = `/${bucket}/${'\xff'.repeat(7_500)}`
    const answer = await send({ target: bytes })
    expect(answer.status).to.be.within(400, 499)
    expect(recordOf(await auditWith(answer), answer)?.key).to.have.length(7_500)
  })

  it('contains entries before, between and after 1,200 anonymous requests', async () => {
    const before = await ask('PUT', 'a')
    const agent = ['?versionId=%0A%0A.. 200 ', '%0A?versionId=.. 200 '].join('').repeat(7)
    const tail = `${' x SigV4 - AuthHeader x x arn:aws:s3:::'.repeat(4)}${'/'.repeat(300)}`
    const flood = () =>
      Promise.all(
        Array.from({ length: 600 }, (_, at) => {
          const target = ['/x/y', `/${foreign}/y`, `/${bucket}/${'\xff'.repeat(7_000)}`][at % 3] ?? '/'
          return send({ target, headers: { 'user-agent': agent, referer: tail } })
        }),
      )
    const [, between] = await Promise.all([flood(), ask('PUT', 'b')])
    await flood()
    const last = await ask('DELETE', 'a')
    const found = await auditWith(last)
    const mine = found.filter(({ accessKeyId }) => accessKeyId !== undefined)
    expect(mine.map(({ requestId }) => requestId)).to.deep.equal(
      [last, between, before].map(({ requestId }) => requestId),
    )
  })
})
