import { z } from 'zod'
import { CLUSTER_STATES, clusterStateOf, isConnected } from '../../contracts/clusters.ts'
import { timestamp } from '../../core/clock.ts'
import { createdAtOf } from '../../core/object.ts'
import { formatBytes, formatCores } from '../../core/quantity.ts'
import type { PlatformCluster } from '../../crds/clusters.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { derivedFrom } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'

export type ClusterRecord = RecordOf<typeof PlatformCluster>

const StorageClassDto = namedRecord('ClusterStorageClass', {
  name: z.string(),
  isDefault: z.boolean(),
  isExpandable: z.boolean(),
  isShareable: z.boolean().nullable(),
})

/** More than any cluster has; a bound is needed because a record may be sent back as read. */
const LISTED_MAX = 10_000

export const ClusterViewModel = namedRecord('ClusterViewModel', {
  id: Uuid,
  name: z.string(),
  displayName: z.string(),
  region: z.string(),
  labels: z.record(z.string(), z.string()),
  isDefault: z.boolean().describe('Where resources of boundaries without a projection run'),
  isLocal: z.boolean().describe('The cluster that the platform itself runs on'),
  status: z.enum(CLUSTER_STATES),
  phase: z.string().nullable(),
  statusMessage: z.string().nullable(),
  kubernetesVersion: z.string().nullable(),
  agentVersion: z.string().nullable(),
  joinedAt: DateTime.nullable(),
  lastSeenAt: DateTime.nullable(),
  nodeCount: z.int().nullable(),
  readyNodeCount: z.int().nullable(),
  cpuCapacity: z.string().nullable(),
  memoryCapacity: z.string().nullable(),
  cpuRequested: z.string().nullable().describe("What pods request on the platform's own cluster; null for others"),
  memoryRequested: z.string().nullable(),
  capabilities: z.array(z.string()).max(LISTED_MAX),
  ingressDomain: z.string().nullable(),
  defaultStorageClass: z.string().nullable(),
  storageClasses: z.array(StorageClassDto).max(LISTED_MAX),
  certificateExpiresAt: DateTime.nullable(),
  clockSkewMilliseconds: z.int().nullable(),
  projectionCount: z.int(),
  resourceCount: z.int(),
  createdAt: DateTime,
})
export type ClusterViewModel = z.output<typeof ClusterViewModel>

type OnCluster = { readonly spec: { readonly clusterId?: string | undefined } }

function countByCluster(objects: readonly OnCluster[]): ReadonlyMap<string | undefined, number> {
  const counts = new Map<string | undefined, number>()
  for (const { spec } of objects) counts.set(spec.clusterId, (counts.get(spec.clusterId) ?? 0) + 1)
  return counts
}

const projections = derivedFrom(BoundaryProjection, (objects) => countByCluster(objects as readonly OnCluster[]))
const resources = RESOURCE_KINDS.map((kind) =>
  derivedFrom(kind, (objects) => countByCluster(objects as readonly OnCluster[])),
)

/** Counts what refers to a cluster. A resource without a cluster is on the platform's own. */
export function countClusterUsers({ records }: Pick<Services, 'records'>, { metadata, spec }: ClusterRecord) {
  const count = (counts: ReadonlyMap<string | undefined, number>) =>
    (counts.get(metadata.name) ?? 0) + (spec.isPlatform ? (counts.get(undefined) ?? 0) : 0)
  return {
    projectionCount: projections(records).get(metadata.name) ?? 0,
    resourceCount: resources.reduce((total, list) => total + count(list(records)), 0),
  }
}

export function clusterDto(
  services: Pick<Services, 'records' | 'clock' | 'storage' | 'capacity'>,
  cluster: ClusterRecord,
): ClusterViewModel {
  const { metadata, spec, status = {} } = cluster
  const { agent, storageClasses = [] } = status
  const requested = spec.isPlatform ? services.capacity.requested() : undefined
  return wholeRecord(ClusterViewModel, {
    ...status,
    ...agent,
    id: metadata.name,
    name: spec.name ?? (spec.isPlatform ? 'local' : metadata.name),
    displayName: spec.displayName,
    region: spec.region,
    labels: spec.labels,
    isDefault: spec.isPlatform,
    isLocal: spec.isPlatform,
    // Computed now, so that a revocation shows before a controller has seen it.
    status: clusterStateOf(cluster, services.clock.now()),
    agentVersion: agent?.version,
    // The time is not stored while the agent is connected.
    lastSeenAt: isConnected(agent) ? timestamp(services.clock.now()) : agent?.lastSeenAt,
    cpuRequested: requested && formatCores(requested.cpu),
    memoryRequested: requested && formatBytes(requested.memory),
    capabilities: status.capabilities ?? [],
    ingressDomain: spec.domain,
    defaultStorageClass: spec.defaultStorageClass,
    storageClasses: storageClasses.map(({ name, isDefault, isExpandable }) => ({
      ...{ name, isDefault, isExpandable },
      isShareable: spec.isPlatform ? services.storage.isShared(name) : null,
    })),
    ...countClusterUsers(services, cluster),
    createdAt: createdAtOf(metadata),
  })
}
