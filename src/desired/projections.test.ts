import { expect } from 'chai'
import { isOfFormerProjection, projectedNamespace, projectionMark } from './projections.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const MARK = projectionMark('boundary-1', 'cluster-1')
const OURS = { boundaryId: BOUNDARY, clusterId: CLUSTER, mark: MARK, incarnation: 'now' }

/** The namespace as the engine creates it for a projection. */
function made(incarnation: string | undefined, mark = MARK, owner = CLUSTER, boundary = BOUNDARY) {
  const home = projectedNamespace(boundary, 'shop', mark)
  const labels = {
    ...home.metadata.labels,
    'freehold.dev/owner-kind': 'BoundaryProjection',
    'freehold.dev/owner-name': owner,
  }
  const life = incarnation === undefined ? {} : { 'freehold.dev/incarnation-of-owner': incarnation }
  return { ...home, metadata: { ...home.metadata, labels, annotations: { ...home.metadata.annotations, ...life } } }
}

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
    ['returns false for another cluster', made('before', MARK, BOUNDARY), false],
    ['returns false for another boundary', made('before', MARK, CLUSTER, CLUSTER), false],
  ] as const) {
    it(sentence, () => expect(isOfFormerProjection(home, OURS)).to.equal(is))
  }
})
