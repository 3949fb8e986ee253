import { expect } from 'chai'
import { AccountBucket } from '../../crds/objectstorage.ts'
import { indexedByReference } from './derived.ts'
import type { RecordOf, Records } from './records.ts'

type Bucket = RecordOf<typeof AccountBucket>

describe('indexedByReference', () => {
  const stored = new Map<string, Bucket>()
  let looks = 0
  let revision = 0
  const records = {
    revision: () => revision,
    peek: (_: unknown, { namespace, name }: { namespace: string; name: string }) => stored.get(`${namespace}/${name}`),
    peekAll: (_: unknown, { namespace }: { namespace: string }) => {
      looks += 1
      return [...stored.values()].filter(({ metadata }) => metadata.namespace === namespace)
    },
  } as unknown as Records
  const put = (namespace: string, name: string, accountName: string) => {
    stored.set(`${namespace}/${name}`, { metadata: { namespace, name }, spec: { accountName } } as unknown as Bucket)
    revision += 1
  }
  const ofAccount = indexedByReference(AccountBucket, ({ spec }) => spec.accountName)
  const found = (namespace: string, account: string) =>
    ofAccount(records, namespace, account).map(({ metadata }) => metadata.name)

  beforeEach(() => {
    stored.clear()
    put('shop', 'a', 'media')
    put('shop', 'b', 'media')
    put('shop', 'c', 'logs')
    put('other', 'd', 'media')
    looks = 0
  })

  it('returns the objects of the namespace with the reference, in order', () => {
    expect([
      found('shop', 'media'),
      found('shop', 'logs'),
      found('shop', 'none'),
      found('other', 'media'),
    ]).to.deep.equal([['a', 'b'], ['c'], [], ['d']])
  })

  it('lists the objects once until one of them changes', () => {
    for (let row = 0; row < 500; row += 1) found('shop', 'media')
    expect(looks).to.equal(1)
    put('shop', 'e', 'media')
    expect(found('shop', 'media')).to.deep.equal(['a', 'b', 'e'])
    expect(looks).to.equal(2)
  })
})
