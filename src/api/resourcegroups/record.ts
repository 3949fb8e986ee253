import { z } from 'zod'
import { RESOURCE_STATES, summaryOf } from '../../core/conditions.ts'
import { objectId } from '../../core/ids.ts'
import { createdByOf } from '../../core/labels.ts'
import { boundaryIdOf, groupNamespace } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { groupScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { countedInGroup, type GroupResource, isTopLevelResource } from '../resources/contents.ts'
import { DateTime, Tags, Uuid } from '../resources/dto.ts'
import { mayRead } from '../resources/holders.ts'
import { dateTime, enumeration, type ListShape, number, text } from '../resources/paging.ts'
import { BoundaryQuotaDto, quotaDto } from '../resources/quotaRecord.ts'
import { usageOf } from '../resources/usage.ts'

export type GroupRecord = RecordOf<typeof ResourceGroup>

export const ResourceGroupDto = namedRecord('ResourceGroupDto', {
  id: Uuid,
  name: z.string(),
  boundary: z.string().describe('Display name of the boundary, as it is now'),
  boundaryId: Uuid,
  namespace: z.string(),
  scope: z.string(),
  status: z.enum(RESOURCE_STATES),
  phase: z.string().nullable(),
  statusMessage: z.string().nullable(),
  resourceCount: z.int().describe('Resources that the caller may read'),
  resourceCounts: z.record(z.string(), z.int()).describe('The same by collection; those without a resource are absent'),
  quota: BoundaryQuotaDto,
  usage: BoundaryQuotaDto.describe('What counts under the quota, whoever may read it'),
  tags: Tags,
  createdAt: DateTime,
  createdBy: z.string().nullable(),
})
export type ResourceGroupDto = z.output<typeof ResourceGroupDto>

/** A group with its surroundings. Resources are looked up lazily, because not every list needs them. */
export type GroupView = {
  readonly group: GroupRecord
  readonly boundaryId: string
  readonly boundary: string
  /** The objects that quotas count. */
  readonly counted: () => readonly GroupResource[]
  /** The resources that the caller may read. */
  readonly readable: () => readonly GroupResource[]
}

export function groupView(context: Context, group: GroupRecord, boundary: string): GroupView {
  const boundaryId = boundaryIdOf(group.metadata)
  const counted = memoize(() => countedInGroup(context.services, boundaryId, group.metadata.name))
  const readable = memoize(() =>
    counted()
      .filter(isTopLevelResource)
      .filter((resource) => mayRead(context, boundaryId, resource)),
  )
  return { group, boundaryId, boundary, counted, readable }
}

function memoize<Value extends object>(compute: () => Value): () => Value {
  let value: Value | undefined
  return () => {
    value ??= compute()
    return value
  }
}

const groupId = ({ metadata }: GroupRecord) => objectId(ResourceGroup.resource, metadata)

export function groupDto(services: Services, view: GroupView): ResourceGroupDto {
  const { metadata, spec } = view.group
  const readable = view.readable()
  const counts: Record<string, number> = {}
  for (const { kind } of readable) counts[kind.segment] = (counts[kind.segment] ?? 0) + 1
  return {
    id: groupId(view.group),
    name: metadata.name,
    boundary: view.boundary,
    boundaryId: view.boundaryId,
    namespace: groupNamespace(view.boundaryId, metadata.name),
    scope: groupScope(view.boundaryId, metadata.name),
    ...summaryOf(view.group),
    resourceCount: readable.length,
    resourceCounts: counts,
    quota: quotaDto(spec.quota),
    usage: quotaDto(usageOf(services, [view.group], view.counted())),
    tags: spec.tags,
    createdAt: createdAtOf(metadata),
    createdBy: createdByOf(metadata),
  }
}

export const groupShape: ListShape<GroupView> = {
  fields: {
    name: text('Name', { of: ({ group }) => group.metadata.name, isSearched: true }),
    status: enumeration('Status', RESOURCE_STATES, { of: ({ group }) => summaryOf(group).status, isSorted: false }),
    resourceCount: number('Resources', { of: (view) => view.readable().length, isFiltered: false }),
    createdAt: dateTime('Created', { of: ({ group }) => group.metadata.creationTimestamp }),
  },
  defaultSort: 'name',
  nameOf: ({ group }) => group.metadata.name,
  idOf: ({ group }) => groupId(group),
  tagsOf: ({ group }) => group.spec.tags,
}
