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
  scope: { boundaryId: 'b-1', resourceGroup: 'shop' },
  sameCluster: true,
}

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

describe('ownership of children', () => {
  it('sets owner reference, labels and incarnation in the namespace of the owner', () => {
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

  it('sets no owner reference across namespaces, where the garbage collector would delete the child', () => {
    const { ownerReferences, annotations } = withOwner(child({ namespace: 'elsewhere' }), OWNER).metadata
    expect(ownerReferences).to.equal(undefined)
    expect(annotations).to.include({ 'freehold.dev/owner-namespace': 'shop-1' })
  })

  it('sets no owner reference into another cluster', () => {
    expect(withOwner(child(), { ...OWNER, sameCluster: false }).metadata.ownerReferences).to.equal(undefined)
  })

  const reference = { apiVersion: 'v1', kind: 'X', name: 'orders', uid: 'uid-1' }
  const cases: [string, Partial<KubeObject['metadata']>, boolean][] = [
    ['accepts an object with the uid of the owner', { ownerReferences: [reference] }, true],
    [
      'accepts an object with the incarnation although a restore gave the owner a new uid',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      },
      true,
    ],
    [
      'rejects an object of a deleted owner with the same name',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-0' },
      },
      false,
    ],
    ['rejects an object with our labels only', { labels: { 'freehold.dev/owner-name': 'orders' } }, false],
  ]
  for (const [sentence, metadata, expected] of cases) {
    it(sentence, () => expect(belongsTo(child(metadata), OWNER)).to.equal(expected))
  }

  it('rejects an object with an empty incarnation if the owner has none yet', () => {
    const unmarked = { ...OWNER, incarnation: '', object: { ...OWNER.object, metadata: { name: 'orders' } } }
    expect(belongsTo(child({ annotations: { 'freehold.dev/incarnation-of-owner': '' } }), unmarked)).to.equal(false)
  })

  it('finds the key of the owner from a child in the same and in another namespace', () => {
    const kind = VectorCluster.resource
    expect(ownerKeyOf(withOwner(child(), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child({ namespace: 'elsewhere' }), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child(), { ...OWNER, sameCluster: false }), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(child(), kind)).to.equal(undefined)
    expect(ownerKeyOf(withOwner(child(), OWNER), { ...kind, kind: 'Other' })).to.equal(undefined)
  })

  it('indexes a child by uid and incarnation', () => {
    expect(ownerIndexKeys(withOwner(child(), OWNER))).to.deep.equal(['uid-1', 'inc-1'])
    expect(ownerIndexKeys(child())).to.deep.equal([])
  })
})
