import { type ClusterState, isClusterReachable } from '../../contracts/clusters.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { ObjectScope, OtherClusters, Workspace } from './pass.ts'

/** Where the workload of an object is: on the platform's cluster, on another one, or on one that cannot be used. */
export type WorkloadLocation =
  | { kind: 'platform cluster' }
  | { kind: 'other cluster'; workspace: Workspace }
  | { kind: 'unusable'; obstacle: Outcome; onDeletion: UnreachablePolicy }

/**
 * What a deletion does about objects on an unusable cluster: wait for it, nothing because nothing of ours was ever
 * there, or leave them because no agent is trusted to remove them.
 */
type UnreachablePolicy = 'wait' | 'nothing to remove' | 'leave'

export const NO_OTHER_CLUSTERS: OtherClusters = {
  find: () => undefined,
  each: () => () => {},
  lost: () => undefined,
  refused: () => [],
  onLost: () => () => {},
}

const PLATFORM_CLUSTER: WorkloadLocation = { kind: 'platform cluster' }

type Specified = { spec?: { clusterId?: string | undefined } }

/** Returns the cluster that a spec names, if it exists and is not the platform's own. */
export function otherClusterOf(object: object, records: Workspace): string | undefined {
  const { clusterId } = (object as Specified).spec ?? {}
  if (clusterId === undefined) return undefined
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  return cluster === undefined || cluster.spec.isPlatform ? undefined : clusterId
}

/** Returns the workspace of a resource's workload, which may not be that of the pass; undefined if unreachable. */
export function workspaceOf(
  object: object,
  { records, others }: { records: Workspace; others: OtherClusters },
): Workspace | undefined {
  const clusterId = otherClusterOf(object, records)
  return clusterId === undefined ? records : others.find(clusterId)
}

/** What the controller of a kind with `runsAnywhere` reads besides its own objects. */
export const LOCATION_READS = [PlatformCluster.resource, BoundaryProjection.resource]

/**
 * Returns whether a cluster can be used. Checks its record first: an open workspace does not make a revoked agent
 * trustworthy.
 */
export function resolveCluster(clusterId: string, records: Workspace, others: OtherClusters): WorkloadLocation {
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  const name = cluster?.spec.displayName ?? clusterId
  const state = (cluster?.status?.state ?? 'AwaitingJoin') as ClusterState
  const unreachable = (obstacle: Outcome, onDeletion: UnreachablePolicy = 'wait'): WorkloadLocation => ({
    kind: 'unusable',
    obstacle,
    onDeletion,
  })
  if (state === 'Revoked') {
    const hadAgent = cluster?.status?.agent?.joinedAt !== undefined
    const obstacle = stalled('ClusterRevoked', `The agent of cluster "${name}" was revoked. Let it join again.`)
    return unreachable(obstacle, hadAgent ? 'leave' : 'nothing to remove')
  }
  if (state === 'AwaitingJoin')
    return unreachable(
      waiting('WaitingForCluster', `Cluster "${name}" has no agent yet. Let one join.`),
      'nothing to remove',
    )
  if (state === 'Offline') {
    const seen = cluster?.status?.agent?.lastSeenAt ?? 'never'
    return unreachable(
      stalled(
        'ClusterUnreachable',
        `Cluster "${name}" does not answer; what runs there keeps running. Last seen: ${seen}.`,
      ),
    )
  }
  const workspace = others.find(clusterId)
  if (workspace !== undefined && isClusterReachable(state)) return { kind: 'other cluster', workspace }
  const [refusal] = others.refused(clusterId)
  const reason = refusal === undefined ? 'is connecting.' : `cannot be worked on. ${refusal}`
  return unreachable(waiting('WaitingForCluster', `Cluster "${name}" ${reason}`))
}

/** Whether the boundary and the object's namespace are projected on the cluster; `done` if so. */
export function checkProjection(
  clusterId: string,
  { boundaryId }: ObjectScope,
  namespace: string,
  records: Workspace,
): Outcome {
  const projection = records.cache(BoundaryProjection).get(`boundary-${boundaryId}`, clusterId)
  if (projection === undefined) {
    return stalled(
      'ReferenceMissing',
      `The boundary is not projected on cluster "${clusterId}". Project it, or choose another cluster.`,
    )
  }
  const resolved = projection.status?.resolvedNamespaces?.find((each) => each.namespace === namespace)
  if (resolved?.state === 'Applied') return done()
  const { namespaces } = projection.spec
  if (namespaces !== undefined && !namespaces.includes(namespace)) {
    return stalled(
      'ReferenceMissing',
      `The projection on cluster "${clusterId}" leaves out namespace "${namespace}". Add it there.`,
    )
  }
  return waiting('WaitingForCluster', `Namespace "${namespace}" is not made on cluster "${clusterId}" yet.`)
}

export function locateWorkload(
  kind: Pick<AnyKind, 'placement'>,
  target: { clusterId: string | undefined; scope: ObjectScope; namespace: string | undefined; isLeaving: boolean },
  records: Workspace,
  others: OtherClusters,
): WorkloadLocation {
  const { clusterId, scope, namespace, isLeaving } = target
  if (clusterId === undefined) return PLATFORM_CLUSTER
  const found = resolveCluster(clusterId, records, others)
  if (isLeaving || kind.placement !== 'group') return found
  const obstacle = checkProjection(clusterId, scope, namespace ?? '', records)
  // If the cluster is not ready either, its obstacle explains the missing namespace.
  const isExplained = obstacle.kind === 'waiting' && found.kind === 'unusable'
  return obstacle.kind === 'done' || isExplained ? found : { kind: 'unusable', obstacle, onDeletion: 'wait' }
}
