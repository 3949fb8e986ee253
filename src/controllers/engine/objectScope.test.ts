import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import type { CacheView } from './controller.ts'
import { boundaryOfKey, resolveObjectScope } from './objectScope.ts'

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'

/** A view in which every namespace has this metadata, or none exists. */
const view = (metadata?: Partial<KubeObject['metadata']>) =>
  ({
    get: (_: unknown, name: string) =>
      metadata && { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name } },
  }) as unknown as CacheView

describe('resolveObjectScope', () => {
  const group = { placement: 'group', kind: 'VectorCluster' } as const
  const labels = { 'freehold.dev/boundary': BOUNDARY, 'freehold.dev/resource-group': 'shop' }

  it('reads boundary and group from the labels of the namespace', () => {
    const { scope, obstacle } = resolveObjectScope(group, child(), view({ labels }))
    expect(scope).to.deep.equal({ boundaryId: BOUNDARY, resourceGroup: 'shop' })
    expect(obstacle).to.equal(undefined)
  })

  it('waits while the namespace is missing or being deleted', () => {
    expect(resolveObjectScope(group, child(), view()).obstacle).to.include({
      kind: 'waiting',
      reason: 'WaitingForGroup',
    })
    const leaving = view({ labels, deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect(resolveObjectScope(group, child(), leaving).obstacle).to.include({
      kind: 'waiting',
      reason: 'WaitingForGroup',
    })
  })

  it('rejects a group kind outside a group and a boundary kind outside a boundary namespace', () => {
    const refused = { kind: 'stalled', reason: 'ConfigurationInvalid' }
    expect(resolveObjectScope(group, child(), view({})).obstacle).to.include(refused)
    const boundary = { placement: 'boundary', kind: 'ResourceGroup' } as const
    expect(resolveObjectScope(boundary, child(), view({ labels })).obstacle).to.include(refused)
    const home = child({ namespace: `boundary-${BOUNDARY}` })
    expect(resolveObjectScope(boundary, home, view({})).scope).to.deep.equal({ boundaryId: BOUNDARY })
  })

  it('returns an empty place for cluster-scoped kinds', () => {
    expect(resolveObjectScope({ placement: 'cluster', kind: 'Boundary' }, child(), view())).to.deep.equal({
      scope: {},
      obstacle: undefined,
    })
  })

  it('waits in a reserved namespace', () => {
    const reserved = view({ labels: { 'freehold.dev/reserved-for': 'Boundary' } })
    const boundary = { placement: 'boundary', kind: 'ResourceGroup' } as const
    expect(resolveObjectScope(boundary, child(), reserved).obstacle).to.include({
      kind: 'waiting',
      reason: 'WaitingForGroup',
    })
  })
})

describe('boundaryOfKey', () => {
  const labelled = view({ labels: { 'freehold.dev/boundary': BOUNDARY } })
  const cases: { title: string; kind: string; key: string; namespaces: CacheView; boundary: string | undefined }[] = [
    {
      title: 'returns the boundary of the group namespace',
      kind: 'VectorCluster',
      key: 'shop-4850a07928/orders',
      namespaces: labelled,
      boundary: BOUNDARY,
    },
    {
      title: 'parses the boundary namespace without reading it',
      kind: 'ResourceGroup',
      key: `boundary-${BOUNDARY}/shop`,
      namespaces: view(),
      boundary: BOUNDARY,
    },
    { title: 'returns the key of a Boundary', kind: 'Boundary', key: BOUNDARY, namespaces: view(), boundary: BOUNDARY },
    {
      title: 'returns nothing in the system namespace',
      kind: 'RoleAssignment',
      key: 'freehold-system/root',
      namespaces: view({}),
      boundary: undefined,
    },
    {
      title: 'returns nothing for a cluster-scoped object',
      kind: 'PlatformTenant',
      key: 'acme',
      namespaces: labelled,
      boundary: undefined,
    },
  ]
  for (const { title, kind, key, namespaces, boundary } of cases)
    it(title, () => expect(boundaryOfKey({ kind }, key, namespaces)).to.equal(boundary))
})
