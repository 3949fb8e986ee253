import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { belongsTo, type Owner, ownerIndexKeys, ownerKeyOf, withOwner } from './ownership.ts'

const OWNER: Owner = {
  object: {
    apiVersion: 'data.freehold.dev/v1alpha1',
    kind: 'VectorCluster',
    metadata: { name: 'orders', namespace: 'shop-1', uid: 'uid-1' },
  },
  resource: VectorCluster.resource,
  incarnation: 'inc-1',
  place: { boundaryId: 'b-1', resourceGroup: 'shop' },
  sameCluster: true,
}

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

describe('ownership', () => {
  it('is a reference, labels and the incarnation in the namespace of the owner', () => {
    expect(withOwner(child({ labels: { app: 'x' } }), OWNER).metadata).to.deep.equal({
      name: 'vc-orders',
      namespace: 'shop-1',
      labels: {
        app: 'x',
        'app.kubernetes.io/managed-by': 'freehold',
        'freehold.dev/owner-kind': 'VectorCluster',
        'freehold.dev/owner-name': 'orders',
        'freehold.dev/boundary': 'b-1',
        'freehold.dev/resource-group': 'shop',
      },
      annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      ownerReferences: [
        {
          apiVersion: 'data.freehold.dev/v1alpha1',
          kind: 'VectorCluster',
          name: 'orders',
          uid: 'uid-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    })
  })

  it('is never a reference across namespaces, which would make the collector delete the child', () => {
    const { ownerReferences, annotations } = withOwner(child({ namespace: 'elsewhere' }), OWNER).metadata
    expect(ownerReferences).to.equal(undefined)
    expect(annotations).to.include({ 'freehold.dev/owner-namespace': 'shop-1' })
  })

  it('is never a reference into another cluster', () => {
    expect(withOwner(child(), { ...OWNER, sameCluster: false }).metadata.ownerReferences).to.equal(undefined)
  })

  const reference = { apiVersion: 'v1', kind: 'X', name: 'orders', uid: 'uid-1' }
  const cases: [string, Partial<KubeObject['metadata']>, boolean][] = [
    ['an object with the uid of the owner is ours', { ownerReferences: [reference] }, true],
    [
      'an object with the incarnation is ours, even after a restore gave the owner a new uid',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      },
      true,
    ],
    [
      'an object of a namesake that was deleted is not ours',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-0' },
      },
      false,
    ],
    ['an object with our labels only is not ours', { labels: { 'freehold.dev/owner-name': 'orders' } }, false],
  ]
  for (const [sentence, metadata, expected] of cases) {
    it(sentence, () => expect(belongsTo(child(metadata), OWNER)).to.equal(expected))
  }

  it('proves nothing where the owner has no incarnation yet', () => {
    const unmarked = { ...OWNER, incarnation: '', object: { ...OWNER.object, metadata: { name: 'orders' } } }
    expect(belongsTo(child({ annotations: { 'freehold.dev/incarnation-of-owner': '' } }), unmarked)).to.equal(false)
  })

  it('leads from a child back to the key of its owner, in its namespace and across', () => {
    const kind = VectorCluster.resource
    expect(ownerKeyOf(withOwner(child(), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child({ namespace: 'elsewhere' }), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child(), { ...OWNER, sameCluster: false }), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(child(), kind)).to.equal(undefined)
    expect(ownerKeyOf(withOwner(child(), OWNER), { ...kind, kind: 'Other' })).to.equal(undefined)
  })

  it('is indexed by uid and incarnation', () => {
    expect(ownerIndexKeys(withOwner(child(), OWNER))).to.deep.equal(['uid-1', 'inc-1'])
    expect(ownerIndexKeys(child())).to.deep.equal([])
  })
})
