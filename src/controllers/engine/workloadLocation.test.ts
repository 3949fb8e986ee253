import { expect } from 'chai'
import type { Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { Workspace } from './controller.ts'
import { locateWorkload } from './workloadLocation.ts'

const CLUSTER = '11111111-1111-4111-8111-111111111111'
const HOME = 'shop-2635447f8f'

type State = 'AwaitingJoin' | 'Joining' | 'Online' | 'Offline' | 'Revoked'
type Projection = { namespaces?: string[]; made?: boolean } | undefined

/** What the records say of the one cluster, and of the boundary's projection on it. */
function recordsOf(state: State, projection: Projection): Workspace {
  const cluster = { spec: { displayName: 'far' }, status: { state } }
  const resolvedNamespaces = projection?.made === true ? [{ namespace: HOME, state: 'Applied' }] : []
  const found = projection && { spec: { namespaces: projection.namespaces }, status: { resolvedNamespaces } }
  const cache = ({ plural }: Resource) => ({ get: () => (plural === PlatformCluster.plural ? cluster : found) })
  return { cache } as unknown as Workspace
}

describe('where a resource on another cluster is worked on', () => {
  const there = {} as Workspace
  const cases: [sentence: string, state: State, projection: Projection, says: string][] = [
    ['there, where its namespace is made and an agent is connected', 'Online', { made: true }, 'there'],
    ['nowhere without a projection, whatever the cluster does', 'Revoked', undefined, 'ReferenceMissing'],
    ['nowhere if the projection leaves its namespace out', 'Online', { namespaces: [] }, 'ReferenceMissing'],
    ['nowhere until its namespace is made', 'Online', {}, 'Namespace "shop-2635447f8f" is not made'],
    [
      'nowhere while no agent has joined, which is why its namespace is not made',
      'AwaitingJoin',
      {},
      'has no agent yet',
    ],
    ['nowhere while the agent is revoked, which is why its namespace is not made', 'Revoked', {}, 'was revoked'],
    ['nowhere while the agent does not answer', 'Offline', { made: true }, 'does not answer'],
  ]
  for (const [sentence, state, projection, says] of cases) {
    it(`is ${sentence}`, () => {
      const of = { clusterId: CLUSTER, place: { boundaryId: 'b' }, namespace: HOME, isLeaving: false }
      const others = { find: () => (state === 'Online' ? there : undefined) }
      const found = locateWorkload({ placement: 'group' }, of, recordsOf(state, projection), others as never)
      expect(found.kind === 'away' ? JSON.stringify(found.obstacle) : found.kind).to.include(
        says.replaceAll('"', found.kind === 'away' ? '\\"' : '"'),
      )
    })
  }
})
