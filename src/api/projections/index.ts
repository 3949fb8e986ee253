import { z } from 'zod'
import { clusterStateOf } from '../../contracts/clusters.ts'
import { RESOURCE_STATES, summaryOf } from '../../core/conditions.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { readResources } from '../resources/contents.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { clusterInfo, groupsOfBoundary } from '../resources/find.ts'
import { namedHolders, shownHolders } from '../resources/holders.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'

type ProjectionRecord = RecordOf<typeof BoundaryProjection>

const ProjectedNamespace = namedRecord('ProjectedNamespace', {
  namespace: z.string(),
  state: z.enum(['Pending', 'Applied', 'Drifted', 'Failed', 'Removing']),
  message: z.string().nullable(),
  appliedAt: DateTime.nullable(),
})

const BoundaryProjectionDto = namedRecord('BoundaryProjectionDto', {
  id: Uuid,
  boundaryId: Uuid,
  clusterId: Uuid,
  clusterName: z.string(),
  namespaces: z.array(z.string()).nullable(),
  resolvedNamespaces: z.array(ProjectedNamespace),
  status: z.enum(RESOURCE_STATES),
  phase: z.string().nullable(),
  statusMessage: z.string().nullable(),
  observedAt: DateTime.nullable(),
  createdAt: DateTime,
})

const Namespaces = BoundaryProjection.spec.shape.namespaces.nullish()
const CreateBoundaryProjectionRequest = strictRecord('CreateBoundaryProjectionRequest', {
  clusterId: Uuid,
  namespaces: Namespaces,
})
const UpdateBoundaryProjectionRequest = strictRecord('UpdateBoundaryProjectionRequest', { namespaces: Namespaces })

/** @throws PlatformError BAD_REQUEST for a namespace that does not belong to a group of this boundary */
function checkNamespaces({ services }: Context, boundaryId: string, namespaces: readonly string[] | null | undefined) {
  const known = new Set(groupsOfBoundary(services, boundaryId).map(({ namespace }) => namespace))
  const index = (namespaces ?? []).findIndex((name) => !known.has(name))
  if (index < 0) return
  const message = `"${namespaces?.[index]}" is not the namespace of a group of this boundary`
  throw refusedFields([{ field: `namespaces.${index}`, message }])
}

/** @throws PlatformError REFERENCE_NOT_FOUND, INVALID_STATE */
async function checkCluster({ services }: Context, clusterId: string): Promise<void> {
  const cluster = await services.records.get(PlatformCluster, { name: clusterId })
  if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) {
    const message = `There is no cluster "${clusterId}".`
    throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'clusterId', value: clusterId })
  }
  const { displayName, isPlatform } = cluster.spec
  const state = clusterStateOf(cluster, services.clock.now())
  const refuse = (message: string) => new PlatformError('INVALID_STATE', message, { status: state, phase: null })
  if (isPlatform) throw refuse(`Every boundary is already on "${displayName}": the platform itself runs there.`)
  if (state === 'Revoked') throw refuse(`The agent of cluster "${displayName}" was revoked. Let it join again first.`)
}

/** @throws PlatformError IN_USE */
async function refuseInUse(
  context: Context,
  { spec }: ProjectionRecord,
  { boundaryId }: BoundaryParent,
  remaining?: Set<string>,
) {
  const { services } = context
  const groups = groupsOfBoundary(services, boundaryId)
  const affectedGroups = groups.filter(({ namespace }) => remaining?.has(namespace) !== true).map(({ name }) => name)
  const usedResources = (await readResources(services, boundaryId, affectedGroups, true)).filter(
    ({ object }) => (object.spec as { clusterId?: string }).clusterId === spec.clusterId,
  )
  if (usedResources.length === 0) return
  const { usedBy, words } = namedHolders(shownHolders(context, boundaryId, usedResources), usedResources.length)
  const message = `The boundary has resources on cluster "${spec.clusterId}": delete them first.${words}`
  throw new PlatformError('IN_USE', message, { usedBy })
}

const projections = collection(BoundaryProjection, {
  path: '{B}/projections',
  item: 'projectionId',
  noun: 'Projection',
  parent: inBoundary,
  may: { read: action('boundaries/projections/read'), write: action('boundaries/projections/manage') },
  dto: BoundaryProjectionDto,
  toDto: (projection, { services, parent: { boundaryId } }) => ({
    boundaryId,
    clusterName: clusterInfo(services, projection.spec.clusterId).name,
    resolvedNamespaces: (projection.status?.resolvedNamespaces ?? []).map(
      ({ namespace, state, message, appliedAt }) => ({
        namespace,
        state: state as 'Applied',
        message: message ?? null,
        appliedAt: appliedAt ?? null,
      }),
    ),
    ...summaryOf(projection),
  }),
  columns: {
    clusterId: text('Cluster id', { isSorted: false }),
    clusterName: text('Cluster', { isFiltered: false, isSearched: true }),
    status: enumeration('Status', RESOURCE_STATES, { isSorted: false }),
    createdAt: dateTime('Created', { isFiltered: false }),
  },
  sort: 'clusterName',
  name: 'clusterName',
  list: { summary: 'The clusters that the boundary is projected on' },
  get: { summary: 'The boundary on a cluster' },
  create: {
    summary: 'Project the boundary on a cluster: its groups get their namespaces there',
    body: CreateBoundaryProjectionRequest,
    nameOf: ({ body }) => body.clusterId,
    toSpec: async (context, { boundaryId }) => {
      const { clusterId, namespaces } = context.body
      await checkCluster(context, clusterId)
      checkNamespaces(context, boundaryId, namespaces)
      return { clusterId, ...(namespaces ? { namespaces } : {}) }
    },
    // Set at creation: a projection deleted before its controller saw it would leave its namespaces behind.
    options: { finalizers: [FINALIZER], isSame: () => false },
  },
  patch: {
    summary: 'Choose the namespaces that are projected; null is all of them',
    body: UpdateBoundaryProjectionRequest,
    before: async (context, object, parent) => {
      const { namespaces } = context.body
      checkNamespaces(context, parent.boundaryId, namespaces)
      if (namespaces) await refuseInUse(context, object, parent, new Set(namespaces))
    },
    toSpec: ({ spec }, { body }) => {
      if (body.namespaces === undefined) return spec
      const { namespaces: _, ...withoutNamespaces } = spec
      return body.namespaces === null ? withoutNamespaces : { ...withoutNamespaces, namespaces: body.namespaces }
    },
  },
  remove: {
    summary: 'Remove the boundary from a cluster where it has no resources',
    before: refuseInUse,
    waits: true,
  },
})

/** The five routes of projections (interface section 4.11). */
export const projectionRoutes: readonly RouteDraft[] = projections.routes()
