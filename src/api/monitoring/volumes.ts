import { z } from 'zod'
import { createdAtOf, type KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { dateTime, enumeration, flag, number, text } from '../resources/paging.ts'
import { clusterListRoute, type ListedCluster } from './clusterLists.ts'
import { type Claim, hasOwner, NO_OWNER, ownerFinder, parseQuantityBytes, type Volume } from './storageObjects.ts'

const PHASES = ['Available', 'Bound', 'Released', 'Failed', 'Pending'] as const
const LINE_MAX = 253

export const ownerFields = {
  boundaryId: Uuid.nullable().describe('Null for what belongs to no boundary'),
  resourceGroup: z.string().nullable(),
  collection: z.string().nullable(),
  resourceName: z.string().nullable(),
}

export const StorageVolumeDto = namedRecord('StorageVolumeDto', {
  name: z.string(),
  clusterId: Uuid,
  storageClass: z.string(),
  phase: z.enum(PHASES),
  capacityBytes: z.int(),
  reclaimPolicy: z.string(),
  accessModes: z.array(z.string()),
  claim: namedRecord('StorageClaimReference', { namespace: z.string(), name: z.string() }).nullable(),
  ...ownerFields,
  isOrphaned: z.boolean().describe('Nobody uses it: its claim is gone, or the resource that the claim was made for'),
  createdAt: DateTime,
})
export type StorageVolumeDto = z.output<typeof StorageVolumeDto>

/** Returns the records of volumes, with their owners. */
export function volumeDtos(
  services: Pick<Services, 'records'>,
  { clusterId }: Pick<ListedCluster, 'clusterId'>,
  volumes: readonly KubeObject[],
  claims: readonly KubeObject[],
): StorageVolumeDto[] {
  const claimOf = new Map((claims as readonly Claim[]).map((claim) => [keyOf(claim.metadata), claim]))
  const ownerOf = ownerFinder(services)
  return (volumes as readonly Volume[]).map(({ metadata, spec = {}, status = {} }) => {
    const { claimRef } = spec
    const found = claimRef && claimOf.get(keyOf(claimRef))
    // A recreated claim of the same name has another volume.
    const claim =
      found !== undefined && (claimRef?.uid ?? found.metadata.uid) === found.metadata.uid ? found : undefined
    return {
      name: plainLine(metadata.name, LINE_MAX),
      clusterId,
      storageClass: spec.storageClassName ?? '',
      phase: PHASES.find((phase) => phase === status.phase) ?? 'Pending',
      capacityBytes: parseQuantityBytes(spec.capacity?.storage),
      reclaimPolicy: spec.persistentVolumeReclaimPolicy ?? '',
      accessModes: spec.accessModes ?? [],
      claim: claimRef === undefined ? null : { namespace: claimRef.namespace ?? '', name: claimRef.name ?? '' },
      ...(claimRef?.namespace === undefined ? NO_OWNER : ownerOf(claimRef.namespace, claim)),
      isOrphaned: claimRef !== undefined && (claim === undefined || !hasOwner(services, claim)),
      createdAt: createdAtOf(metadata),
    }
  })
}

const keyOf = ({ namespace = '', name = '' }: { namespace?: string; name?: string }) => `${namespace}/${name}`

/** Volumes of all clusters (interface section 4.16, records: monitoring). */
export const volumesRoute: RouteDraft = clusterListRoute('/admin/monitoring/storage/volumes', {
  auth: action('monitoring/platform/read'),
  summary: 'The volumes of all reachable clusters',
  dto: StorageVolumeDto,
  columns: {
    name: text('Name', { isSearched: true }),
    clusterId: text('Cluster id', { isShown: false }),
    storageClass: text('Class'),
    phase: enumeration('Phase', PHASES),
    capacityBytes: number('Capacity'),
    boundaryId: text('Boundary', { isShown: false }),
    resourceGroup: text('Resource group'),
    collection: text('Type'),
    resourceName: text('Resource'),
    isOrphaned: flag('Orphaned', { isSorted: true }),
    createdAt: dateTime('Created'),
  },
  sort: 'name',
  name: 'name',
  id: 'clusterId',
  rowsOf: async ({ services }) => {
    const { objects } = services.monitoring
    return async (where) => {
      const [volumes, claims] = await Promise.all([objects.volumes(where), objects.claims(where)])
      return volumeDtos(services, where, volumes, claims)
    }
  },
})
