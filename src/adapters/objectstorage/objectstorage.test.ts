import { expect } from 'chai'
import { objectStoreContract } from '../../../test/suites/objectStoreContract.ts'
import { parseAccess } from './accessLog.ts'
import { FakeObjectStore } from './fake.ts'
import { grantStatements, hasSubject, publicStatement, subjectOf, withSubject } from './policies.ts'

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
  it('never let a key change who else may do something', () => {
    for (const permission of ['Read', 'Write', 'ReadWrite', 'Admin'] as const) {
      const actions = grantStatements({ bucket: 'b', permission }, 'k', 'arn').flatMap(({ Action }) => Action)
      expect(actions.join(' ')).not.to.match(/Policy|Acl|PutBucket|\*|Bypass|CreateBucket|DeleteBucket\b/)
    }
  })

  it('hold a prefix on objects and on what may be listed', () => {
    const [list, objects] = grantStatements({ bucket: 'b', permission: 'ReadWrite', prefix: 'in/' }, 'k', 'arn')
    expect(list?.Condition).to.deep.equal({ StringLike: { 's3:prefix': 'in/*' } })
    expect(list?.Action).not.to.include('s3:GetBucketLocation')
    expect(objects?.Resource).to.equal('arn:aws:s3:::b/in/*')
  })

  it('give the same text for the same grants, whatever the order, and nothing for none', () => {
    const of = (user: string) => grantStatements({ bucket: 'b', permission: 'Read' }, subjectOf(user), `arn:${user}`)
    const [one, two] = [subjectOf('key-1'), subjectOf('key-2')]
    const forth = withSubject(withSubject(undefined, one, of('key-1')), two, of('key-2'))
    const back = withSubject(withSubject(undefined, two, of('key-2')), one, of('key-1'))
    expect(JSON.stringify(forth)).to.equal(JSON.stringify(back))
    expect(withSubject(withSubject(forth, one, []), two, [])).to.equal(undefined)
    const shared = withSubject(forth, 'public', [publicStatement('b')])
    expect(hasSubject(withSubject(shared, one, []), two)).to.equal(true)
    expect(hasSubject(withSubject(shared, one, []), one)).to.equal(false)
  })
})

describe('lines of an access log', () => {
  const line = (key: string, uri: string, agent = 'sdk/1 x') =>
    `admin acc-one [21/November/2026:14:51:56 +0000] 127.0.0.1 AKIA1 REQ1 s3_PutObject ${key} ${uri} 200 - 0 7 0 0 - ${agent} - host= SigV4 - AuthHeader s3.us-east-1.amazonaws.com - arn Yes`

  it('say who did what', () => {
    expect(parseAccess(line('a b', '/acc-one/a%20b?x-id=PutObject'))).to.deep.include({
      ...{ timestamp: '2026-11-21T14:51:56.000Z', operation: 'PutObject', bucket: 'acc-one', key: 'a b' },
      ...{ statusCode: 200, errorCode: undefined, accessKeyId: 'AKIA1', remoteAddress: '127.0.0.1', bytes: 7 },
    })
  })

  it('that are none are passed over', () => {
    for (const text of ['', 'log starts 2026', 'a b c', line('x', 'no-path')])
      expect(parseAccess(text)).to.equal(undefined)
  })
})
