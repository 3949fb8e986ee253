import { expect } from 'chai'
import { isOfFormerProjection, projectedNamespace, projectionMark } from './projections.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const MARK = projectionMark('boundary-1', 'cluster-1')
const OURS = { boundaryId: BOUNDARY, clusterId: CLUSTER, mark: MARK, incarnation: 'now' }

/** As the engine makes it for a projection. */
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

describe('a namespace that a former projection left', () => {
  for (const [sentence, home, is] of [
    ['is of this boundary on this cluster, and not of the present projection', made('before'), true],
    ['is not that of the present projection', made('now'), false],
    ['is not one without the incarnation of a projection', made(undefined), false],
    ['is not one of another life of the boundary', made('before', projectionMark('boundary-2', 'cluster-1')), false],
    ['is not one of another life of the cluster', made('before', projectionMark('boundary-1', 'cluster-2')), false],
    ['is not one of another cluster', made('before', MARK, BOUNDARY), false],
    ['is not one of another boundary', made('before', MARK, CLUSTER, CLUSTER), false],
  ] as const) {
    it(sentence, () => expect(isOfFormerProjection(home, OURS)).to.equal(is))
  }
})
