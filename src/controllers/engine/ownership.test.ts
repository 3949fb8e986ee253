import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { belongsTo, type Owner, ownerIndexKeys, ownerKeyOf, ownerRestoreMs, withOwner } from './ownership.ts'

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

const CLUSTER_WIDE: Owner = {
  ...OWNER,
  object: { ...OWNER.object, metadata: { name: 'orders', uid: 'uid-1' } },
  resource: { ...VectorCluster.resource, namespaced: false },
}

const OWNING = { apiVersion: OWNER.object.apiVersion, kind: 'VectorCluster', name: 'orders', uid: 'uid-1' }

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

describe('ownership of children', () => {
  it('sets owner reference, labels and incarnation in the namespace of the owner', () => {
    expect(withOwner(child({ labels: { app: 'x' }, annotations: { note: 'y' } }), OWNER).metadata).to.deep.equal({
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
      annotations: { note: 'y', 'freehold.dev/incarnation-of-owner': 'inc-1' },
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

  it('sets an owner reference from the cluster into any namespace, but none at a namespace', () => {
    const referenced = withOwner(child(), CLUSTER_WIDE).metadata
    expect(referenced.ownerReferences).to.have.length(1)
    expect(referenced.annotations).to.not.have.property('freehold.dev/owner-namespace')
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-1' } }
    expect(withOwner(namespace, CLUSTER_WIDE).metadata.ownerReferences).to.equal(undefined)
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
    for (const other of [{ kind: 'Other' }, { group: 'other.dev' }])
      expect(ownerKeyOf(withOwner(child(), OWNER), { ...kind, ...other })).to.equal(undefined)
    const elsewhere = withOwner(child({ namespace: 'elsewhere' }), OWNER)
    expect(ownerKeyOf(elsewhere, { ...kind, kind: 'Other' })).to.equal(undefined)
    expect(ownerKeyOf(withOwner(child(), CLUSTER_WIDE), CLUSTER_WIDE.resource)).to.equal('orders')
    expect(ownerKeyOf(child({ ownerReferences: [OWNING] }), kind)).to.equal(undefined)
    expect(ownerKeyOf(child({ ownerReferences: [{ ...OWNING, controller: true }] }), kind)).to.equal('shop-1/orders')
  })

  it('waits ten minutes for the owner of a restored object, whose reference is gone', () => {
    const creationTimestamp = '2026-01-01T00:00:00Z'
    const remainingAfter = (seconds: number, metadata = {}) =>
      ownerRestoreMs(child({ creationTimestamp, ...metadata }), Date.parse(creationTimestamp) + seconds * 1_000)
    expect([remainingAfter(0), remainingAfter(599), remainingAfter(601)]).to.deep.equal([600_000, 1_000, 0])
    expect([remainingAfter(0, { ownerReferences: [reference] }), ownerRestoreMs(child(), 0)]).to.deep.equal([0, 0])
  })

  it('indexes a child by uid and incarnation', () => {
    expect(ownerIndexKeys(withOwner(child(), OWNER))).to.deep.equal(['uid-1', 'inc-1'])
    expect(ownerIndexKeys(child())).to.deep.equal([])
  })
})
