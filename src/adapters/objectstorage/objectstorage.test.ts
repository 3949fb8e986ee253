import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { objectStoreContract } from '../../../test/suites/objectStoreContract.ts'
import type { StoreGrant } from '../../contracts/objectstorage.ts'
import { accessIn, recordOf } from './access.ts'
import { fileAudit } from './accessLog.ts'
import { FakeObjectStore } from './fake.ts'
import { type PolicyDocument, withGrant, withPublic } from './policies.ts'

describe('a store in memory', () => {
  objectStoreContract(
    () => {
      const store = new FakeObjectStore()
      return { store, client: (...given) => store.attempt(...given) }
    },
    { audits: true },
  )
})

describe('policies', () => {
  const principalOf = (user: string) => ({ user, principal: `arn:aws:iam::0:user/${user}` })
  const granted = (policy: PolicyDocument | undefined, user: string, grant: Omit<StoreGrant, 'bucket'>) =>
    withGrant(policy, principalOf(user), { bucket: 'b', ...grant })

  it('never let a key change who else may do something', () => {
    for (const permission of ['Read', 'Write', 'ReadWrite', 'Admin'] as const) {
      for (const prefix of [{}, { prefix: 'in/' }]) {
        const { Statement = [] } = granted(undefined, 'k', { permission, ...prefix }) ?? {}
        const actions = Statement.flatMap(({ Action }) => Action)
        expect(actions.join(' ')).not.to.match(/Policy|Acl|PutBucket|\*|Bypass|CreateBucket|DeleteBucket\b/)
        expect(
          Statement.every(({ Action }) => Action.length > 0),
          `${permission} allows nothing`,
        ).to.equal(true)
      }
    }
  })

  it('hold a prefix on objects and on what may be listed', () => {
    const [list, objects] = granted(undefined, 'k', { permission: 'ReadWrite', prefix: 'in/' })?.Statement ?? []
    expect(list?.Condition).to.deep.equal({ StringLike: { 's3:prefix': 'in/*' } })
    expect(list?.Action).not.to.include('s3:GetBucketLocation')
    expect(objects?.Resource).to.equal('arn:aws:s3:::b/in/*')
  })

  it('give the same text for the same grants, whatever the order, and nothing for none', () => {
    const forth = granted(granted(undefined, 'key-1', { permission: 'Read' }), 'key-2', { permission: 'Read' })
    const back = granted(granted(undefined, 'key-2', { permission: 'Read' }), 'key-1', { permission: 'Read' })
    expect(JSON.stringify(forth)).to.equal(JSON.stringify(back))
    const less = withGrant(forth, principalOf('key-1'), undefined)
    expect(withGrant(less, principalOf('key-2'), undefined)).to.equal(undefined)
    const open = withPublic(less, 'b', true)
    expect(withGrant(open, principalOf('key-2'), undefined)?.Statement).to.have.length(1)
    expect(withPublic(open, 'b', false)).to.deep.equal(less)
  })

  it('have one statement for each permission and prefix, whoever holds it', () => {
    let policy: PolicyDocument | undefined
    const users = Array.from(
      { length: 100 },
      (_, index) => `key-00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    )
    for (const user of users) policy = granted(policy, user, { permission: 'Admin' })
    expect(policy?.Statement).to.have.length(1)
    expect(JSON.stringify(policy).length, 'half of what S3 keeps').to.be.lessThan(10_240)
    policy = granted(policy, users[0] ?? '', { permission: 'Read', prefix: 'a' })
    policy = granted(policy, users[1] ?? '', { permission: 'Read', prefix: 'b' })
    expect(policy?.Statement).to.have.length(5)
    for (const user of users) policy = withGrant(policy, principalOf(user), undefined)
    expect(policy).to.equal(undefined)
  })

  it('replace what a former release wrote for a user', () => {
    const Principal = { AWS: principalOf('key-1').principal }
    const former: PolicyDocument = {
      Version: '2012-10-17',
      Statement: [
        { Sid: 'key1Bucket', Effect: 'Allow', Principal, Action: ['s3:ListBucket'], Resource: 'arn:aws:s3:::b' },
        { Sid: 'key1Objects', Effect: 'Allow', Principal, Action: ['s3:GetObject'], Resource: 'arn:aws:s3:::b/*' },
      ],
    }
    expect(granted(former, 'key-1', { permission: 'Read' })).to.deep.equal(
      granted(undefined, 'key-1', { permission: 'Read' }),
    )
    expect(withGrant(former, { user: 'key-1', principal: 'key-1' }, undefined)).to.equal(undefined)
    expect(granted(former, 'key-11', { permission: 'Read' })?.Statement).to.have.length(3)
  })
})

describe('an access log in a file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'access-log-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const lineOf = (requester: string, request: string, { bucket = 'one', status = 200, key = 'é' } = {}) =>
    `admin ${bucket} [21/November/2026:14:51:56 +0000] 127.0.0.1 ${requester} ${request} s3_PutObject ${key} /${bucket}/${encodeURIComponent(key)} ${status} - 0 7 0 0 - sdk - host= SigV4 - AuthHeader s3 - arn:aws:s3:::/${bucket}/${key} Yes`
  const ask = async (lines: readonly string[], limit = 100_000) => {
    const path = join(folder, 'access.log')
    await writeFile(path, `${lines.join('\n')}\n`)
    return fileAudit(path, 'platform')(new Set(['one']), limit)
  }

  it('is read from its end, in whatever pieces', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => lineOf('AKIA1', `R${index}`, { key: 'é'.repeat(200) }))
    const found = await ask(lines)
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(lines.map((_, index) => `R${2_999 - index}`))
    expect(found.every(({ key }) => key === 'é'.repeat(200))).to.equal(true)
    expect((await ask(lines, 2)).map(({ requestId }) => requestId)).to.deep.equal(['R2999', 'R2998'])
  })

  it('leaves out the requests of the platform, but not who pretends to be it', async () => {
    const found = await ask([
      lineOf('platform', 'R1'),
      lineOf('platform', 'R2', { status: 404 }),
      lineOf('platform', 'R3', { status: 403 }),
      lineOf('AKIA1', 'R4'),
      lineOf('AKIA1', 'R5', { bucket: 'other' }),
    ])
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R4', 'R3'])
  })

  describe('whatever keys hold ends of lines', () => {
    const forged = lineOf('AKIA2', 'FORGED', { key: 'y' })
    /** It looks as if it stood in lines of its own, with a URI in the middle. */
    const whole = lineOf('AKIA2', 'FORGED', { key: 'v\nw' })
    for (const [what, key] of [
      ['a line', `x\n${forged}\nz`],
      ['several lines', `x\n${forged}\n\n${forged}\nz`],
      ['its first line', `y /one/y 403 AccessDenied 0 0 0 0 - a - h SigV4 - AuthHeader s - arn:aws:s3:::/one/y Yes\nz`],
      ['its last line', `x\n${forged.slice(0, -' Yes'.length)}`],
      ['lines of a request whose key holds an end of a line', `x\n${whole}\nz`],
      ['such lines at its end', `x\n${whole.slice(0, -' Yes'.length)}`],
      ['nothing', '\n\n'],
    ] as const)
      it(`tells of what was asked for and no more: ${what}`, async () => {
        const lines = [lineOf('AKIA1', 'R1'), lineOf('AKIA1', 'R2', { key, status: 404 }), lineOf('AKIA1', 'R3')]
        const found = await ask(lines)
        expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R3', 'R2', 'R1'])
        expect(found[1]).to.include({ key, statusCode: 404, accessKeyId: 'AKIA1' })
      })

    it('takes no line of others that is not all of what it says', async () => {
      const found = await ask([lineOf('AKIA1', 'R1'), forged.replace('/one/y', '/one/y%0Az'), lineOf('AKIA1', 'R3')])
      expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R3', 'R1'])
    })
  })

  it('is empty if there is none', async () => {
    expect(await fileAudit(join(folder, 'nothing'), 'platform')(new Set(['one']), 5)).to.deep.equal([])
    expect(await fileAudit(undefined, 'platform')(new Set(['one']), 5)).to.deep.equal([])
  })
})

describe('lines of an access log', () => {
  const parseAccess = (text: string) => {
    const access = accessIn(text)
    return access && recordOf(access)
  }
  const line = (key: string, uri: string, agent = 'sdk/1 x') =>
    `admin acc-one [21/November/2026:14:51:56 +0000] 127.0.0.1 AKIA1 REQ1 s3_PutObject ${key} ${uri} 200 - 0 7 0 0 - ${agent} - host= SigV4 - AuthHeader s3.us-east-1.amazonaws.com - arn:aws:s3:::/acc-one/${key} Yes`

  it('say who did what', () => {
    expect(parseAccess(line('a b', '/acc-one/a%20b?x-id=PutObject'))).to.deep.include({
      ...{ timestamp: '2026-11-21T14:51:56.000Z', operation: 'PutObject', bucket: 'acc-one', key: 'a b' },
      ...{ statusCode: 200, errorCode: undefined, accessKeyId: 'AKIA1', remoteAddress: '127.0.0.1', bytes: 7 },
    })
  })

  it('may end in an error that S3 has no code for', () => {
    const failed = line('a', '/acc-one/a').replace(' 200 - ', ' 500 get iam data: no such file ')
    expect(parseAccess(failed)).to.deep.include({ statusCode: 500, errorCode: 'get iam data: no such file', bytes: 7 })
  })

  const told = '/acc-one/x 403 AccessDenied 0 0 0 0 - y - host= SigV4 - AuthHeader s - arn:aws:s3:::/acc-one/x'
  for (const [what, key, agent] of [
    ['a key', `x ${told}`, 'sdk'],
    ['an agent', 'plain', `z ${told}`],
    ['both', `x ${told}`, `z ${told} Yes`],
  ] as const)
    it(`tell what was done, whatever ${what} says was`, () => {
      const found = parseAccess(line(key, `/acc-one/${encodeURIComponent(key)}`, agent))
      expect(found).to.deep.include({ key, statusCode: 200, errorCode: undefined, bytes: 7 })
    })

  for (const [operation, uri] of [
    ['ListObjectsV2', '/acc-one?list-type=2'],
    ['ListObjectsV2', '/acc-one/'],
    ['HeadBucket', '/acc-one'],
  ] as const)
    it(`tell of the bucket itself (${uri})`, () => {
      const [path] = uri.split('?')
      const asked = line('-', uri).replace('/acc-one/- Yes', `${path} Yes`).replace('PutObject', operation)
      expect(parseAccess(asked)).to.deep.include({ operation, key: undefined, statusCode: 200 })
    })

  it('have keys that are no Unicode', () => {
    expect(parseAccess(line('a\ufffdb', '/acc-one/a%FFb'))).to.deep.include({ key: 'a\ufffdb', statusCode: 200 })
  })

  it('that are invalid are skipped', () => {
    for (const text of ['', 'log starts 2026', 'a b c', line('x', 'no-path')])
      expect(parseAccess(text)).to.equal(undefined)
  })
})
