import { type ClusterState, isReachable } from '../../contracts/clusters.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { OtherClusters, Place, Workspace } from './pass.ts'

/** Where the workload of an object is: here, or in another cluster, with the obstacle to reaching it, if any. */
export type Whereabouts =
  | { kind: 'here' }
  | { kind: 'there'; workspace: Workspace }
  | { kind: 'away'; obstacle: Outcome; ending: Ending }

/**
 * What a deletion does about what is there: wait until the cluster answers, nothing since nothing of ours was ever there,
 * or leave it, since no agent is trusted to remove it.
 */
type Ending = 'waits' | 'nothing there' | 'left'

export const NO_OTHER_CLUSTERS: OtherClusters = {
  find: () => undefined,
  each: () => () => {},
  lost: () => undefined,
  refused: () => [],
  onLost: () => () => {},
}

const HERE: Whereabouts = { kind: 'here' }

type Specified = { spec?: { clusterId?: string | undefined } }

/** The cluster that the spec of a resource names, if it is another one than the platform's own and there is such a record. */
export function otherClusterOf(object: object, records: Workspace): string | undefined {
  const { clusterId } = (object as Specified).spec ?? {}
  if (clusterId === undefined) return undefined
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  return cluster === undefined || cluster.spec.isPlatform ? undefined : clusterId
}

/**
 * The workspace of a resource's workload, which may differ from that of the pass; undefined while it cannot be reached.
 */
export function workspaceOf(
  object: object,
  { records, others }: { records: Workspace; others: OtherClusters },
): Workspace | undefined {
  const clusterId = otherClusterOf(object, records)
  return clusterId === undefined ? records : others.find(clusterId)
}

/** What a controller of a kind with `runsAnywhere` reads besides its own objects. */
export const WHEREABOUTS_READS = [PlatformCluster.resource, BoundaryProjection.resource]

/**
 * Whether a cluster can be worked on. Its record is checked first: a workspace that was open a moment ago does not make
 * a revoked agent trustworthy.
 */
export function reach(clusterId: string, records: Workspace, others: OtherClusters): Whereabouts {
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  const name = cluster?.spec.displayName ?? clusterId
  const state = (cluster?.status?.state ?? 'AwaitingJoin') as ClusterState
  const away = (obstacle: Outcome, ending: Ending = 'waits'): Whereabouts => ({ kind: 'away', obstacle, ending })
  if (state === 'Revoked') {
    const hadAgent = cluster?.status?.agent?.joinedAt !== undefined
    const obstacle = stalled('ClusterRevoked', `The agent of cluster "${name}" was revoked. Let it join again.`)
    return away(obstacle, hadAgent ? 'left' : 'nothing there')
  }
  if (state === 'AwaitingJoin')
    return away(waiting('WaitingForCluster', `Cluster "${name}" has no agent yet. Let one join.`), 'nothing there')
  if (state === 'Offline') {
    const seen = cluster?.status?.agent?.lastSeenAt ?? 'never'
    return away(
      stalled(
        'ClusterUnreachable',
        `Cluster "${name}" does not answer; what runs there keeps running. Last seen: ${seen}.`,
      ),
    )
  }
  const workspace = others.find(clusterId)
  if (workspace !== undefined && isReachable(state)) return { kind: 'there', workspace }
  const [refusal] = others.refused(clusterId)
  const why = refusal === undefined ? 'is connecting.' : `cannot be worked on. ${refusal}`
  return away(waiting('WaitingForCluster', `Cluster "${name}" ${why}`))
}

/** Whether the boundary is projected there with the object's namespace; done if it is. */
export function projected(clusterId: string, { boundaryId }: Place, namespace: string, records: Workspace): Outcome {
  const projection = records.cache(BoundaryProjection).get(`boundary-${boundaryId}`, clusterId)
  if (projection === undefined) {
    return stalled(
      'ReferenceMissing',
      `The boundary is not projected on cluster "${clusterId}". Project it, or choose another cluster.`,
    )
  }
  const home = projection.status?.resolvedNamespaces?.find((each) => each.namespace === namespace)
  if (home?.state === 'Applied') return done()
  const { namespaces } = projection.spec
  if (namespaces !== undefined && !namespaces.includes(namespace)) {
    return stalled(
      'ReferenceMissing',
      `The projection on cluster "${clusterId}" leaves out namespace "${namespace}". Add it there.`,
    )
  }
  return waiting('WaitingForCluster', `Namespace "${namespace}" is not made on cluster "${clusterId}" yet.`)
}

/** Where the workload of an object must be. */
export function whereaboutsOf(
  kind: Pick<AnyKind, 'placement'>,
  of: { clusterId: string | undefined; place: Place; namespace: string | undefined; isLeaving: boolean },
  records: Workspace,
  others: OtherClusters,
): Whereabouts {
  const { clusterId, place, namespace, isLeaving } = of
  if (clusterId === undefined) return HERE
  const found = reach(clusterId, records, others)
  if (isLeaving || kind.placement !== 'group') return found
  const obstacle = projected(clusterId, place, namespace ?? '', records)
  // A namespace that is not made yet waits for what the cluster waits for.
  const isExplained = obstacle.kind === 'waiting' && found.kind === 'away'
  return obstacle.kind === 'done' || isExplained ? found : { kind: 'away', obstacle, ending: 'waits' }
}
