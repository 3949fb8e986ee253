import { expect } from 'chai'
import { retainedStorage, retainedUsers } from './retainedStorage.ts'

const claim = (name: string, owner: string | undefined, storage: string, leaves = false) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name,
    ...(owner !== undefined && { annotations: { 'freehold.dev/retained-for': owner } }),
    ...(leaves && { deletionTimestamp: '2026-11-01T00:00:00Z' }),
  },
  spec: { resources: { requests: { storage } } },
})

describe('retainedStorage and retainedUsers', () => {
  it('sum up retained volumes by resource, the largest first', () => {
    const claims = [
      claim('a', 'SqlInstance/books', '5Gi'),
      claim('b', 'VectorCluster/products', '10Gi'),
      claim('c', 'VectorCluster/products', '10Gi'),
      claim('in use', undefined, '40Gi'),
      claim('being deleted', 'SqlInstance/books', '40Gi', true),
    ]
    expect(retainedStorage(claims)).to.deep.equal([
      { kind: 'VectorCluster', name: 'products', storage: '20Gi' },
      { kind: 'SqlInstance', name: 'books', storage: '5Gi' },
    ])
  })

  it('limit the list to 100 entries, the last of which has the rest', () => {
    const retained = retainedStorage(
      Array.from({ length: 130 }, (_, at) => claim(`${at}`, `SqlInstance/db-${at}`, '1Gi')),
    )
    expect(retained).to.have.length(100)
    expect(retained.at(-1)?.storage).to.equal('31Gi')
  })

  it('use the quota key of the resource', () => {
    const [user] = retainedUsers('shop', [{ kind: 'VectorCluster', name: 'products', storage: '1Gi' }])
    expect(user?.key).to.equal('vectorclusters/shop/products')
    expect(user?.isRetained).to.equal(true)
  })
})
