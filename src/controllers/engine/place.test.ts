import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import type { CacheView } from './controller.ts'
import { boundaryOfKey, resolvePlace } from './place.ts'

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'

/** Namespaces, all with this metadata; none without. */
const view = (metadata?: Partial<KubeObject['metadata']>) =>
  ({
    get: (_: unknown, name: string) =>
      metadata && { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name } },
  }) as unknown as CacheView

describe('the place of an object', () => {
  const group = { placement: 'group', kind: 'VectorCluster' } as const
  const labels = { 'freehold.dev/boundary': BOUNDARY, 'freehold.dev/resource-group': 'shop' }

  it('is read from the labels of its namespace', () => {
    const { place, obstacle } = resolvePlace(group, child(), view({ labels }))
    expect(place).to.deep.equal({ boundaryId: BOUNDARY, resourceGroup: 'shop' })
    expect(obstacle).to.equal(undefined)
  })

  it('is waited for where the namespace is not seen yet, or goes away', () => {
    expect(resolvePlace(group, child(), view()).obstacle).to.include({ kind: 'waiting', reason: 'WaitingForGroup' })
    const leaving = view({ labels, deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect(resolvePlace(group, child(), leaving).obstacle).to.include({ kind: 'waiting', reason: 'WaitingForGroup' })
  })

  it('is refused in a namespace of the other sort', () => {
    const refused = { kind: 'stalled', reason: 'ConfigurationInvalid' }
    expect(resolvePlace(group, child(), view({})).obstacle).to.include(refused)
    const boundary = { placement: 'boundary', kind: 'ResourceGroup' } as const
    expect(resolvePlace(boundary, child(), view({ labels })).obstacle).to.include(refused)
    const home = child({ namespace: `boundary-${BOUNDARY}` })
    expect(resolvePlace(boundary, home, view({})).place).to.deep.equal({ boundaryId: BOUNDARY })
  })

  it('is nothing for kinds that stand in no boundary', () => {
    expect(resolvePlace({ placement: 'cluster', kind: 'Boundary' }, child(), view())).to.deep.equal({
      place: {},
      obstacle: undefined,
    })
  })

  it('is waited for in a namespace that was reserved, whatever its name says', () => {
    const reserved = view({ labels: { 'freehold.dev/reserved-for': 'Boundary' } })
    const boundary = { placement: 'boundary', kind: 'ResourceGroup' } as const
    expect(resolvePlace(boundary, child(), reserved).obstacle).to.include({
      kind: 'waiting',
      reason: 'WaitingForGroup',
    })
  })
})

describe('the boundary that an object is worked on for', () => {
  const labelled = view({ labels: { 'freehold.dev/boundary': BOUNDARY } })
  const cases: { title: string; kind: string; key: string; namespaces: CacheView; boundary: string | undefined }[] = [
    {
      title: 'is that of its group',
      kind: 'VectorCluster',
      key: 'shop-4850a07928/orders',
      namespaces: labelled,
      boundary: BOUNDARY,
    },
    {
      title: 'is known by the name of its own namespace, seen or not',
      kind: 'ResourceGroup',
      key: `boundary-${BOUNDARY}/shop`,
      namespaces: view(),
      boundary: BOUNDARY,
    },
    { title: 'is the boundary itself', kind: 'Boundary', key: BOUNDARY, namespaces: view(), boundary: BOUNDARY },
    {
      title: 'is none for what stands in the namespace of the platform',
      kind: 'RoleAssignment',
      key: 'freehold-system/root',
      namespaces: view({}),
      boundary: undefined,
    },
    {
      title: 'is none for what stands in no namespace',
      kind: 'PlatformTenant',
      key: 'acme',
      namespaces: labelled,
      boundary: undefined,
    },
  ]
  for (const { title, kind, key, namespaces, boundary } of cases)
    it(title, () => expect(boundaryOfKey({ kind }, key, namespaces)).to.equal(boundary))
})
