import { notFound } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { byAge, type ObjectMeta } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Context, Services } from '../http/context.ts'
import { derivedFrom } from '../records/derived.ts'
import type { ReadOptions, RecordOf } from '../records/records.ts'
import type { WorkloadRef } from './liveState.ts'
import type { ResourceView } from './types.ts'

type Where = { readonly services: Services }

/**
 * Finds a boundary, in the cache unless `fresh` is set.
 *
 * @throws PlatformError NOT_FOUND
 */
export async function findBoundary(
  { services }: Where,
  boundaryId: string,
  { fresh }: ReadOptions = {},
): Promise<RecordOf<typeof Boundary>> {
  const boundary = await services.records.get(Boundary, { name: boundaryId }, { fresh })
  if (boundary === undefined) throw notFound(`Boundary "${boundaryId}"`)
  return boundary
}

/**
 * Finds a group of a boundary, in the cache unless `fresh` is set.
 *
 * @throws PlatformError NOT_FOUND, also for a missing boundary
 */
export async function findGroup(
  { services }: Where,
  boundaryId: string,
  name: string,
  { fresh }: ReadOptions = {},
): Promise<RecordOf<typeof ResourceGroup>> {
  const group = await services.records.get(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name }, { fresh })
  if (group === undefined) throw groupMissing(boundaryId, name)
  return group
}

export const groupMissing = (boundaryId: string, name: string) =>
  notFound(`Resource group "${name}" of boundary "${boundaryId}"`)

export type ResourceLocation = { readonly boundaryId: string; readonly resourceGroup: string; readonly name: string }

export function locationOf(context: Context, parameter: string): ResourceLocation {
  const { boundaryId = '', resourceGroupName = '', resourceGroup = '' } = context.parameters
  return { boundaryId, resourceGroup: resourceGroupName || resourceGroup, name: context.parameters[parameter] ?? '' }
}

/** Returns the reference of the resource that the path names. @throws PlatformError NOT_FOUND without its group */
export async function locateResource(
  context: Context,
  parameter: string,
): Promise<{ ref: { namespace: string; name: string }; location: ResourceLocation }> {
  const location = locationOf(context, parameter)
  const { boundaryId, resourceGroup, name } = location
  await findGroup(context, boundaryId, resourceGroup)
  return { ref: { namespace: groupNamespace(boundaryId, resourceGroup), name }, location }
}

/** Finds the resource that the path names. @throws PlatformError NOT_FOUND */
export async function findResource<K extends AnyKind>(
  kind: K,
  context: Context,
  parameter = 'name',
): Promise<{ object: RecordOf<K>; location: ResourceLocation; ref: { namespace: string; name: string } }> {
  const { ref, location } = await locateResource(context, parameter)
  const object = await context.services.records.get(kind, ref, { fresh: context.fresh })
  if (object === undefined) throw notFound(`"${location.name}" of ${kind.segment} in group "${location.resourceGroup}"`)
  return { object, location, ref }
}

export type ClusterInfo = ResourceView['cluster'] & {
  /** The port of public hosts; 443 if undefined. */
  readonly port?: number | undefined
  readonly version: string
}

const NO_CLUSTER: ClusterInfo = {
  id: '00000000-0000-0000-0000-000000000000',
  name: '',
  region: '',
  domain: '',
  version: '',
}

function clusterInfoOf(cluster: RecordOf<typeof PlatformCluster>): ClusterInfo {
  const { displayName, region, domain, publicPort: port } = cluster.spec
  // Not the resource version, which changes with each heartbeat.
  const { name: id, generation, uid } = cluster.metadata
  return { id, name: displayName, region, domain, port, version: `${uid} ${generation}` }
}

const ownCluster = derivedFrom(PlatformCluster, (clusters) => {
  const own = clusters.find(({ spec }) => spec.isPlatform)
  return own === undefined ? NO_CLUSTER : clusterInfoOf(own)
})

/** The platform's own cluster. */
export function defaultCluster(services: Services): ClusterInfo {
  return ownCluster(services.records)
}

/**
 * The default cluster for new resources of the boundary that may run anywhere: its first projection's, or the
 * platform's own.
 */
export function defaultClusterOf(services: Services, boundaryId: string): ClusterInfo {
  const [oldest] = services.records
    .peekAll(BoundaryProjection, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort(byAge)
  return oldest === undefined ? defaultCluster(services) : clusterInfo(services, oldest.spec.clusterId)
}

/** @param clusterId as in a spec: undefined for the platform's own */
export function clusterInfo(services: Services, clusterId: string | undefined): ClusterInfo {
  if (clusterId === undefined) return defaultCluster(services)
  const cluster = services.records.peek(PlatformCluster, { name: clusterId })
  return cluster === undefined ? { ...NO_CLUSTER, id: clusterId } : clusterInfoOf(cluster)
}

/** Returns the id of a resource's cluster; undefined if that is the platform's own. */
export function otherClusterOf({ records }: Pick<Services, 'records'>, clusterId: string | undefined) {
  if (clusterId === undefined) return undefined
  const cluster = records.peek(PlatformCluster, { name: clusterId })
  return cluster === undefined || cluster.spec.isPlatform ? undefined : clusterId
}

/** Where the pods of a resource are. */
export function workloadRefOf(
  services: Pick<Services, 'records'>,
  { kind, metadata, spec }: { kind: string; metadata: ObjectMeta; spec: { clusterId?: string | undefined } },
): WorkloadRef {
  const { namespace = '', name } = metadata
  return { kind, namespace, name, clusterId: otherClusterOf(services, spec.clusterId) }
}

/** Whether a boundary may place resources of a kind on a cluster. */
export function isProjectedOn(services: Services, boundaryId: string, clusterId: string, kind: AnyKind): boolean {
  const cluster = services.records.peek(PlatformCluster, { name: clusterId })
  if (cluster?.spec.isPlatform === true || defaultCluster(services).id === clusterId) return true
  if (kind.runsAnywhere !== true) return false
  const ref = { namespace: boundaryNamespace(boundaryId), name: clusterId }
  const projection = services.records.peek(BoundaryProjection, ref)
  return projection !== undefined && projection.metadata.deletionTimestamp === undefined
}

/**
 * Makes views of the resources of one boundary. What they share is looked up once, so that a list of
 * thousands costs no more look-ups than a single read.
 */
export function createViewBuilder<K extends AnyKind>(
  services: Services,
  boundaryId: string,
): (object: RecordOf<K>, resourceGroup: string) => ResourceView<K> {
  const found = services.records.peek(Boundary, { name: boundaryId })
  const boundary = found?.spec.displayName ?? ''
  const contextByCluster = new Map<string | undefined, Pick<ResourceView<K>, 'cluster' | 'contextVersion'>>()
  const contextOf = (clusterId: string | undefined) => {
    const cluster = clusterInfo(services, clusterId)
    const contextVersion = `${found?.metadata.resourceVersion} ${cluster.id} ${cluster.version}`
    contextByCluster.set(clusterId, { cluster, contextVersion })
    return { cluster, contextVersion }
  }
  return (object, resourceGroup) => {
    const { clusterId } = object.spec as { clusterId?: string | undefined }
    const { cluster, contextVersion } = contextByCluster.get(clusterId) ?? contextOf(clusterId)
    return { object, boundaryId, boundary, resourceGroup, cluster, contextVersion, services }
  }
}

/** The groups of a boundary with their namespaces. */
export function groupsOfBoundary(services: Services, boundaryId: string): { name: string; namespace: string }[] {
  const groups = services.records.peekAll(ResourceGroup, { namespace: boundaryNamespace(boundaryId) })
  return groups.map(({ metadata: { name } }) => ({ name, namespace: groupNamespace(boundaryId, name) }))
}
