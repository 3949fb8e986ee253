import { expect } from 'chai'
import { reservationsOf } from './namespaces.ts'

const ID = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'

describe('reservationsOf', () => {
  it('returns the namespaces of boundaries and groups', () => {
    const manifests = [
      { kind: 'VectorCluster', name: 'products', namespace: 'search-4850a07928' },
      { kind: 'ResourceGroup', name: 'search', namespace: `boundary-${ID}` },
      { kind: 'Boundary', name: ID, namespace: undefined },
    ]
    expect(reservationsOf(manifests)).to.deep.equal([
      { for: 'Boundary', name: `boundary-${ID}` },
      { for: 'ResourceGroup', name: 'search-4850a07928' },
      { for: 'Boundary', name: `boundary-${ID}` },
    ])
  })

  it('rejects a group without the namespace of its boundary', () => {
    const group = { kind: 'ResourceGroup', name: 'search', namespace: 'default' }
    expect(() => reservationsOf([group])).to.throw('has no metadata.namespace boundary-<id>')
  })

  it('rejects a boundary whose name is not an id', () => {
    expect(() => reservationsOf([{ kind: 'Boundary', name: 'acme', namespace: undefined }])).to.throw('not the id')
  })
})
