import { expect } from 'chai'
import type { Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { Workspace } from './controller.ts'
import { locateWorkload } from './workloadLocation.ts'

const CLUSTER = '11111111-1111-4111-8111-111111111111'
const HOME = 'shop-2635447f8f'

type State = 'AwaitingJoin' | 'Joining' | 'Online' | 'Offline' | 'Revoked'
type Projection = { namespaces?: string[]; made?: boolean } | undefined

/** The record of the cluster, and the boundary's projection on it. */
function recordsOf(state: State, projection: Projection): Workspace {
  const cluster = { spec: { displayName: 'far' }, status: { state } }
  const resolvedNamespaces = projection?.made === true ? [{ namespace: HOME, state: 'Applied' }] : []
  const found = projection && { spec: { namespaces: projection.namespaces }, status: { resolvedNamespaces } }
  const cache = ({ plural }: Resource) => ({ get: () => (plural === PlatformCluster.plural ? cluster : found) })
  return { cache } as unknown as Workspace
}

describe('locateWorkload', () => {
  const there = {} as Workspace
  const cases: [sentence: string, state: State, projection: Projection, says: string][] = [
    ['finds the cluster of an online agent with an applied namespace', 'Online', { made: true }, 'other cluster'],
    ['reports a missing projection before a revoked cluster', 'Revoked', undefined, 'ReferenceMissing'],
    ['reports a projection without the namespace', 'Online', { namespaces: [] }, 'ReferenceMissing'],
    ['waits until the namespace is applied', 'Online', {}, 'Namespace "shop-2635447f8f" is not made'],
    ['reports that no agent has joined before a missing namespace', 'AwaitingJoin', {}, 'has no agent yet'],
    ['reports a revoked agent before a missing namespace', 'Revoked', {}, 'was revoked'],
    ['reports an agent that is offline', 'Offline', { made: true }, 'does not answer'],
  ]
  for (const [sentence, state, projection, says] of cases) {
    it(sentence, () => {
      const of = { clusterId: CLUSTER, scope: { boundaryId: 'b' }, namespace: HOME, isLeaving: false }
      const others = { find: () => (state === 'Online' ? there : undefined) }
      const found = locateWorkload({ placement: 'group' }, of, recordsOf(state, projection), others as never)
      expect(found.kind === 'unusable' ? JSON.stringify(found.obstacle) : found.kind).to.include(
        says.replaceAll('"', found.kind === 'unusable' ? '\\"' : '"'),
      )
    })
  }
})
