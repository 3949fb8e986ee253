import { expect } from 'chai'
import { groupNamespace } from '../core/names.ts'
import {
  isOfFormerProjection,
  projectedNamespace,
  projectionMark,
  unknownNamespaces,
  wantedNamespaces,
} from './projections.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const MARK = projectionMark('boundary-1', 'cluster-1')
const OURS = { boundaryId: BOUNDARY, clusterId: CLUSTER, mark: MARK, incarnation: 'now' }

/** The namespace as the engine creates it for a projection. */
function made(
  incarnation: string | undefined,
  mark = MARK,
  owner = CLUSTER,
  boundary = BOUNDARY,
  kind = 'BoundaryProjection',
) {
  const home = projectedNamespace(boundary, 'shop', mark)
  const labels = {
    ...home.metadata.labels,
    'freehold.dev/owner-kind': kind,
    'freehold.dev/owner-name': owner,
  }
  const life = incarnation === undefined ? {} : { 'freehold.dev/incarnation-of-owner': incarnation }
  return { ...home, metadata: { ...home.metadata, labels, annotations: { ...home.metadata.annotations, ...life } } }
}

describe('wantedNamespaces and unknownNamespaces', () => {
  const group = (name: string, deletionTimestamp?: string) => ({ metadata: { name, deletionTimestamp } }) as never
  const groups = [group('shop'), group('blog'), group('old', '2026-01-01T00:00:00Z')]
  const of = (name: string) => groupNamespace(BOUNDARY, name)

  it('name those of all groups that stay, in order', () => {
    const wanted = wantedNamespaces(BOUNDARY, groups, undefined)
    expect(wanted.map(({ name }) => name)).to.deep.equal([of('blog'), of('shop')])
    expect(wanted.map(({ group: { metadata } }) => metadata.name)).to.deep.equal(['blog', 'shop'])
    expect(unknownNamespaces(BOUNDARY, groups)).to.deep.equal([])
  })

  it('name the chosen ones, and report those of no group', () => {
    const chosen = [of('shop'), of('old'), 'kube-system']
    expect(wantedNamespaces(BOUNDARY, groups, chosen).map(({ name }) => name)).to.deep.equal([of('shop')])
    const unknown = unknownNamespaces(BOUNDARY, groups, chosen)
    expect(unknown.map(({ namespace, state }) => [namespace, state])).to.deep.equal([['kube-system', 'Failed']])
  })
})

describe('isOfFormerProjection', () => {
  for (const [sentence, home, is] of [
    ['returns true for a namespace of another projection of this boundary on this cluster', made('before'), true],
    ['returns false for a namespace of the present projection', made('now'), false],
    ['returns false for a namespace without an incarnation', made(undefined), false],
    [
      'returns false for another incarnation of the boundary',
      made('before', projectionMark('boundary-2', 'cluster-1')),
      false,
    ],
    [
      'returns false for another incarnation of the cluster',
      made('before', projectionMark('boundary-1', 'cluster-2')),
      false,
    ],
    ['returns false for a namespace of another kind', made('before', MARK, CLUSTER, BOUNDARY, 'ResourceGroup'), false],
    ['returns false for another cluster', made('before', MARK, BOUNDARY), false],
    ['returns false for another boundary', made('before', MARK, CLUSTER, CLUSTER), false],
  ] as const) {
    it(sentence, () => expect(isOfFormerProjection(home, OURS)).to.equal(is))
  }
})
