import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { logged, toldEntry } from '../../../test/make/accessLog.ts'
import { accessLogReader, bucketLogPath, rotatedLogPath } from './accessLog.ts'
import { isStoreError } from './port.ts'

describe('accessLogReader', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'access-log-'))
    path = join(folder, 'access.jsonl')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const ask = async (text: string, limit = 100_000) => {
    await writeFile(path, text)
    return accessLogReader(path, 'platform')(new Set(['one']), limit)
  }
  const idsIn = async (text: string, limit?: number) => (await ask(text, limit)).map(({ requestId }) => requestId)
  const one = (RequestID: string) => logged({ RequestID })

  it('returns the operation, key, status, requester and time of each request', async () => {
    const failed = { HttpStatus: 500, ErrorCode: 'get iam data: no such file', Requester: '', Key: 'b', BytesSent: 9 }
    const [first, second] = await ask(
      logged({ Time: '2026-11-28T19:44:35.1+01:00', ...failed }) +
        logged({ Time: '2026-11-28T18:44:35.123456789Z', RequestID: 'R2', Operation: 's3_PutObject', Key: 'a b' }),
    )
    expect(first).to.deep.include({
      ...{ timestamp: '2026-11-28T18:44:35.123Z', operation: 'PutObject', bucket: 'one', key: 'a b' },
      ...{ statusCode: 200, errorCode: undefined, accessKeyId: 'AKIA1', remoteAddress: '127.0.0.1', bytes: 7 },
      requestId: 'R2',
    })
    expect(second).to.deep.include({
      ...{ timestamp: '2026-11-28T18:44:35.100Z', key: 'b', statusCode: 500, accessKeyId: undefined, bytes: 9 },
      errorCode: 'get iam data: no such file',
    })
  })

  it('returns no key for a request to the bucket itself', async () => {
    const [found] = await ask(logged({ Key: '', Requester: '-' }))
    expect(found).to.deep.include({ key: undefined, accessKeyId: undefined })
  })

  it('returns the newest requests up to the limit, whatever their keys contain', async () => {
    const keys = Array.from({ length: 3_000 }, (_, at) => `${at}\n${one('FORGED')}é\u2028"}\n`.repeat(3))
    const lines = keys.map((Key, at) => logged({ Key, RequestID: `R${at}` }))
    const found = await ask(lines.join(''))
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(lines.map((_, at) => `R${2_999 - at}`))
    expect(found.map(({ key }) => key)).to.deep.equal(keys.toReversed())
    expect(await idsIn(lines.join(''), 2)).to.deep.equal(['R2999', 'R2998'])
  })

  it('sorts requests by time, even if they were logged in another order', async () => {
    const late = logged({ RequestID: 'R2', Time: '2026-11-28T18:44:36.2Z' })
    expect(await idsIn(late + logged({ RequestID: 'R1', Time: '2026-11-28T18:44:36.1Z' }))).to.deep.equal(['R2', 'R1'])
  })

  it('omits other buckets and requests by the platform, but not a refused use of its name', async () => {
    const found = await idsIn(
      logged({ RequestID: 'R1', Requester: 'platform' }) +
        logged({ RequestID: 'R2', Requester: 'platform', HttpStatus: 404 }) +
        logged({ RequestID: 'R3', Requester: 'platform', HttpStatus: 403 }) +
        one('R4') +
        logged({ RequestID: 'R5', Bucket: 'other' }) +
        logged({ RequestID: 'R6', Bucket: '__proto__' }),
    )
    expect(found).to.deep.equal(['R4', 'R3'])
  })

  it('skips lines that are not entries', async () => {
    const { Time: _, ...timeless } = toldEntry()
    const others = [
      ...[
        '',
        ' ',
        'null',
        '[]',
        '"x"',
        '3',
        '{}',
        'log starts 2026',
        one('HALF').slice(0, -4),
        JSON.stringify(timeless),
      ],
      ...[{ Time: 'soon' }, { Key: null }, { Key: ['a'] }, { HttpStatus: '200' }, { HttpStatus: 1.5 }].map((change) =>
        JSON.stringify({ ...toldEntry({ RequestID: 'BAD' }), ...change }),
      ),
      one('FORGED').trimEnd().repeat(2),
      'freehold one [28/November/2026:18:44:35 +0000] 127.0.0.1 AKIA1 TEXT s3_GetObject a /one/a 200 - 0 7 0 0 - sdk - h SigV4 - AuthHeader s - arn:aws:s3:::/one/a Yes',
    ]
    expect(await idsIn(`${one('R1')}${others.join('\n')}\n${one('R2')}`)).to.deep.equal(['R2', 'R1'])
  })

  it('accepts an entry with unknown fields', async () => {
    const line = JSON.stringify({ ...toldEntry({ RequestID: 'R1' }), BucketOwner: 'freehold', UserAgent: 'x\ny' })
    expect(await idsIn(`${line}\n`)).to.deep.equal(['R1'])
  })

  it('ignores a line that is still being written', async () => {
    expect(await idsIn(one('R1') + one('R2').slice(0, -2))).to.deep.equal(['R1'])
  })

  it('continues in the rotated file and returns no request twice', async () => {
    await writeFile(path, one('R1') + one('R2'))
    await rename(path, rotatedLogPath(path))
    expect(await idsIn(one('R2') + one('R3')))
      .to.have.members(['R3', 'R2', 'R1'])
      .and.to.have.length(3)
  })

  it('reads at most 8 MiB of both files together', async () => {
    await writeFile(rotatedLogPath(path), one('R0'))
    const others = logged({ Bucket: 'other' })
    const flood = others.repeat(Math.ceil((9 * 1024 * 1024) / others.length))
    expect(await idsIn(one('R1') + flood + one('R2'))).to.deep.equal(['R2'])
  })

  it('reads the logs of each bucket from a folder', async () => {
    const flood = Array.from({ length: 1_100 }, () => logged({ Key: 'x'.repeat(8_000), HttpStatus: 403 })).join('')
    await writeFile(bucketLogPath(folder, 'one', 'done'), logged({ RequestID: 'R1', Time: '2026-11-28T18:44:34Z' }))
    await writeFile(bucketLogPath(folder, 'one', 'refused'), flood + logged({ RequestID: 'R2', HttpStatus: 403 }))
    await writeFile(bucketLogPath(folder, 'two', 'done'), flood + logged({ RequestID: 'R3', Bucket: 'two' }))
    const audit = accessLogReader(folder, 'platform')
    const found = await audit(new Set(['one', '../one', 'none']), 100_000)
    expect(found[0]?.requestId).to.equal('R2')
    expect(found.at(-1)?.requestId).to.equal('R1')
    expect(found.length, 'are bounded').to.be.within(100, 600)
    expect(await audit(new Set(['one', 'two']), 2)).to.have.length(2)
  })

  it('rejects with Unreachable while the log cannot be read', async () => {
    await symlink(path, path)
    const failure = await accessLogReader(path, 'platform')(new Set(['one']), 10).catch((error: unknown) => error)
    expect(isStoreError(failure, 'Unreachable')).to.equal(true)
  })

  it('returns nothing without a log', async () => {
    expect(await accessLogReader(path, 'platform')(new Set(['one']), 5)).to.deep.equal([])
    expect(await accessLogReader(undefined, 'platform')(new Set(['one']), 5)).to.deep.equal([])
  })
})
