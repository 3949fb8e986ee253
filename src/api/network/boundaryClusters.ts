import type { FlowResult, FlowSource, FlowState } from '../../adapters/flows/port.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { byAge } from '../../core/object.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { Context } from '../http/context.ts'
import {
  clusterInfo,
  defaultCluster,
  findBoundary,
  findGroup,
  groupMissing,
  groupsOfBoundary,
} from '../resources/find.ts'
import { type ClusterNetworkState, type NetworkStateReader, readNetworkState } from './networkState.ts'
import { networkVisibilityOf } from './networkVisibility.ts'
import type { Window } from './window.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly network: { readonly stateReader: NetworkStateReader; readonly flows: FlowSource }
  }
}

type Group = { readonly name: string; readonly namespace: string }

/** A cluster of a boundary: its policies, or why they are unknown. */
export type SeenCluster = {
  readonly id: string
  /** Undefined for the platform's own. */
  readonly other: string | undefined
  readonly name: string
  readonly seen: ClusterNetworkState | string
}

/** Returns the groups that the caller may see. @throws PlatformError NOT_FOUND for the boundary or the named group */
export async function listVisibleGroups(context: Context, name: string | undefined): Promise<Group[]> {
  const { boundaryId = '' } = context.parameters
  await findBoundary(context, boundaryId)
  const visibility = networkVisibilityOf(context, boundaryId)
  if (name !== undefined && !visibility.group({ name })) throw groupMissing(boundaryId, name)
  if (name !== undefined) await findGroup(context, boundaryId, name)
  const all = groupsOfBoundary(context.services, boundaryId).filter(visibility.group)
  return name === undefined ? all : all.filter((group) => group.name === name)
}

/** Returns the platform's own cluster and those that the boundary is projected on. */
export async function listBoundaryClusters(
  { services, parameters }: Context,
  groups: readonly Group[],
): Promise<SeenCluster[]> {
  const { boundaryId = '' } = parameters
  const own = defaultCluster(services).id
  const projected = services.records
    .peekAll(BoundaryProjection, { namespace: boundaryNamespace(boundaryId) })
    .toSorted(byAge)
    .map(({ spec }) => spec.clusterId)
  const namespaces = groups.map(({ namespace }) => namespace)
  return Promise.all(
    [own, ...projected.filter((id) => id !== own)].map(async (id) => ({
      id,
      other: id === own ? undefined : id,
      name: clusterInfo(services, id).name,
      seen: await readNetworkState(services, id, namespaces),
    })),
  )
}

export const policiesOf = ({ seen }: SeenCluster) =>
  typeof seen === 'string' ? [] : [...seen.policies.kubernetes, ...seen.policies.cilium]

const NO_FLOW_COLLECTOR = 'Nothing in this cluster collects flows'

/** Returns the flows in each cluster, and which are unknown. */
export async function flowsIn(
  { services }: Context,
  clusters: readonly SeenCluster[],
  groups: readonly Group[],
  window: Window,
): Promise<{ flowsByCluster: { cluster: SeenCluster; flows: FlowResult['flows'] }[]; reason: string | undefined }> {
  const namespaces = groups.map(({ namespace }) => namespace)
  const reasons: string[] = []
  const flowsByCluster = await Promise.all(
    clusters.map(async (cluster) => {
      if (typeof cluster.seen === 'string') reasons.push(cluster.seen)
      const found =
        typeof cluster.seen === 'string'
          ? undefined
          : await services.network.flows.flows({ ...window, namespaces }, cluster.other)
      const reason = found === undefined ? `${NO_FLOW_COLLECTOR}: "${cluster.name}".` : found.incompleteReason
      if (reason !== undefined && typeof cluster.seen !== 'string') reasons.push(reason)
      return { cluster, flows: found?.flows ?? [] }
    }),
  )
  return { flowsByCluster, reason: reasons.length === 0 ? undefined : [...new Set(reasons)].join(' ') }
}

export function flowStateOf({ services }: Context, { other, seen }: SeenCluster): Promise<FlowState | undefined> {
  return typeof seen === 'string' ? Promise.resolve(undefined) : services.network.flows.state(other)
}
