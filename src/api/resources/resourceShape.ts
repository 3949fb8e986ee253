import { jobStatusOf } from '../../contracts/jobs.ts'
import { RESOURCE_STATES, type ResourceState, summaryOf } from '../../core/conditions.ts'
import { objectId } from '../../core/ids.ts'
import { createdAtOf } from '../../core/object.ts'
import { REASONS } from '../../core/reasons.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import type { RecordOf } from '../records/records.ts'
import { dateTime, enumeration, type FieldValue, type ListField, type ListShape, text } from './paging.ts'
import { planInView } from './sizing.ts'
import type { AnyDeclaration, ResourceView } from './types.ts'

const NO_TAGS: Readonly<Record<string, string>> = {}

/** Returns the status that the record of a resource of any kind shows; a job's tells how far the job has come. */
export function recordStatusOf(object: RecordOf<AnyKind>): ResourceState | ReturnType<typeof jobStatusOf> {
  if (object.kind === PlatformJob.kind) return jobStatusOf(object as RecordOf<typeof PlatformJob>)
  return summaryOf(object).status
}

function headFields(): Record<string, ListField<ResourceView>> {
  return {
    name: text('Name', { of: (view) => view.object.metadata.name, isSearched: true, isOfObject: true }),
    status: enumeration('Status', RESOURCE_STATES, { of: (view) => summaryOf(view.object).status, isOfObject: true }),
    phase: enumeration('Phase', REASONS, {
      of: (view) => summaryOf(view.object).phase,
      isShown: false,
      isOfObject: true,
    }),
    region: text('Region', { of: (view) => view.cluster.region }),
    clusterId: text('Cluster id', { of: (view) => view.cluster.id, isShown: false }),
    clusterName: text('Cluster', { of: (view) => view.cluster.name }),
    computePlan: text('Plan', { of: planInView }),
    createdAt: dateTime('Created', { of: (view) => view.object.metadata.creationTimestamp, isOfObject: true }),
    statusMessage: text('Message', {
      of: (view) => summaryOf(view.object).statusMessage,
      isFiltered: false,
      isSorted: false,
      isSearched: true,
      isShown: false,
    }),
  }
}

function ofSpec<K extends AnyKind>([name, field]: [string, ListField<ResourceView<K>>]) {
  const of = ({ object }: ResourceView<K>) => (object.spec as Record<string, FieldValue>)[name]
  return [name, { of, ...field }] as const
}

/**
 * The sort and filter options of lists of a kind: only fields that its record has; `isAcross` is the list over all
 * groups of a boundary.
 */
export function resourceShape<K extends AnyKind>(
  declaration: Pick<AnyDeclaration<K>, 'dto' | 'fields' | 'defaultSort'>,
  isAcross: boolean,
): ListShape<ResourceView<K>> {
  const group: ListField<ResourceView> = {
    title: 'Resource group',
    type: 'text',
    of: (view) => view.resourceGroup,
    isOfObject: true,
  }
  const isShown = (name: string) => Object.hasOwn(declaration.dto.shape, name)
  return {
    fields: {
      ...Object.fromEntries(Object.entries(headFields()).filter(([name]) => isShown(name))),
      ...(isAcross && { resourceGroup: group }),
      ...Object.fromEntries(Object.entries(declaration.fields ?? {}).map(ofSpec)),
    } as ListShape<ResourceView<K>>['fields'],
    defaultSort: declaration.defaultSort ?? 'name',
    nameOf: (view) => view.object.metadata.name,
    idOf: (view) => resourceId(view as unknown as ResourceView),
    namesOf: (view) => ({
      id: resourceId(view as unknown as ResourceView),
      name: view.object.metadata.name,
      resourceGroup: view.resourceGroup,
    }),
    ...(isShown('tags') && {
      tagsOf: (view: ResourceView<K>) => (view.object.spec as { tags?: Record<string, string> }).tags ?? NO_TAGS,
    }),
  }
}

/** The id that the interface shows for a resource. */
export function resourceId(view: Pick<ResourceView, 'object'>): string {
  const { apiVersion, kind, metadata } = view.object
  return objectId({ kind, group: apiVersion.split('/')[0] ?? '' }, metadata)
}

/** The head of every resource record (records: head of every resource record). */
export function headOf(view: ResourceView, collection: string) {
  const { metadata } = view.object
  return {
    id: resourceId(view),
    name: metadata.name,
    boundary: view.boundary,
    boundaryId: view.boundaryId,
    resourceGroup: view.resourceGroup,
    collection,
    clusterId: view.cluster.id,
    clusterName: view.cluster.name,
    region: view.cluster.region,
    createdAt: createdAtOf(metadata),
    ...summaryOf(view.object),
  }
}
