import { expect } from 'chai'
import { objectStoreContract } from '../../../test/suites/objectStoreContract.ts'
import type { StoreGrant } from '../../contracts/objectstorage.ts'
import { FakeObjectStore } from './fake.ts'
import { type PolicyDocument, withGrant, withPublic } from './policies.ts'

describe('FakeObjectStore', () => {
  objectStoreContract(
    () => {
      const store = new FakeObjectStore()
      return { store, client: (...given) => store.attempt(...given) }
    },
    { audits: true },
  )
})

describe('withGrant and withPublic', () => {
  const principalOf = (user: string) => ({ user, principal: `arn:aws:iam::0:user/${user}` })
  const granted = (policy: PolicyDocument | undefined, user: string, grant: Omit<StoreGrant, 'bucket'>) =>
    withGrant(policy, principalOf(user), { bucket: 'b', ...grant })

  it('grant no action that changes policies, ACLs or buckets', () => {
    for (const permission of ['Read', 'Write', 'ReadWrite', 'Admin'] as const) {
      for (const prefix of [{}, { prefix: 'in/' }]) {
        const { Statement = [] } = granted(undefined, 'k', { permission, ...prefix }) ?? {}
        const actions = Statement.flatMap(({ Action }) => Action)
        expect(actions.join(' ')).not.to.match(/Policy|Acl|PutBucket|\*|Bypass|CreateBucket|DeleteBucket\b/)
        expect(Statement, `${permission} allows nothing`).to.not.be.empty
        expect(
          Statement.every(({ Action }) => Action.length > 0),
          `${permission} allows nothing`,
        ).to.equal(true)
      }
    }
  })

  it('restrict objects and lists to the prefix', () => {
    const [list, objects] = granted(undefined, 'k', { permission: 'ReadWrite', prefix: 'in/' })?.Statement ?? []
    expect(list?.Condition).to.deep.equal({ StringLike: { 's3:prefix': 'in/*' } })
    expect(list?.Action).not.to.include('s3:GetBucketLocation')
    expect(objects?.Resource).to.equal('arn:aws:s3:::b/in/*')
  })

  it('return the same document in any order of grants, and undefined without grants', () => {
    const forth = granted(granted(undefined, 'key-1', { permission: 'Read' }), 'key-2', { permission: 'Read' })
    const back = granted(granted(undefined, 'key-2', { permission: 'Read' }), 'key-1', { permission: 'Read' })
    expect(JSON.stringify(forth)).to.equal(JSON.stringify(back))
    const less = withGrant(forth, principalOf('key-1'), undefined)
    expect(withGrant(less, principalOf('key-2'), undefined)).to.equal(undefined)
    const open = withPublic(less, 'b', true)
    expect(withGrant(open, principalOf('key-2'), undefined)?.Statement).to.have.length(1)
    expect(withPublic(open, 'b', false)).to.deep.equal(less)
  })

  it('have one statement per permission and prefix for 100 users', () => {
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

  it('replace the statements of an earlier version', () => {
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
