import { z } from 'zod'
import { JOB_STATUSES } from '../../contracts/jobs.ts'
import { ACTIONS } from '../../core/actions.ts'
import { RESOURCE_STATES } from '../../core/conditions.ts'
import { notFound } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace, resourceNamePattern, resourceNameRule } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import {
  boundaryScope,
  findVisibleBoundary,
  groupScope,
  resourceScope,
  visibleBoundaryAuth,
} from '../callers/visibility.ts'
import { acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { type GroupResource, readResources } from '../resources/contents.ts'
import { headFields, ListConfigDto, pagedListOf, Tags, Uuid } from '../resources/dto.ts'
import { createViewBuilder, defaultCluster, findGroup, groupsOfBoundary } from '../resources/find.ts'
import { mayRead } from '../resources/holders.ts'
import { listConfig } from '../resources/listConfig.ts'
import { type NameUse, ResourceNameValidationDto, validateName } from '../resources/names.ts'
import { NamespaceOwnerDto, ownerOfNamespace } from '../resources/namespaceOwner.ts'
import { pagedParts } from '../resources/pages.ts'
import { enumeration, type ListShape, text } from '../resources/paging.ts'
import { isTakenElsewhere } from '../resources/platformNames.ts'
import { headOf, recordStatusOf, resourceShape } from '../resources/resourceShape.ts'
import { planInView } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'
import { type GroupRecord, groupDto, groupShape, groupView, ResourceGroupDto } from './record.ts'
import { changeGroup, createGroup, deleteGroup, PatchResourceGroupRequest } from './writes.ts'

const STATUSES = [...new Set([...RESOURCE_STATES, ...JOB_STATUSES])]

const ResourceSummaryDto = namedRecord('ResourceSummaryDto', {
  ...headFields,
  status: z.enum(STATUSES).describe('As the record of the resource shows it'),
  clusterId: Uuid,
  computePlan: z.string().nullable(),
  tags: Tags,
  href: z.string().describe('Path of the record'),
})

/** A resource of any kind, as in lists over all kinds. */
type SummaryView = ResourceView & { readonly collection: string }

function summaryDto(view: SummaryView): z.input<typeof ResourceSummaryDto> {
  const { collection, boundaryId, resourceGroup, object } = view
  const { tags = {} } = object.spec as { tags?: Record<string, string> }
  const href = resourceScope(boundaryId, resourceGroup, collection, object.metadata.name)
  return { ...headOf(view, collection), status: recordStatusOf(object), computePlan: planInView(view), tags, href }
}

/** Returns the resources that the caller may read, ready to be listed. */
function readableViews(context: Context, boundaryId: string, resources: readonly GroupResource[]): SummaryView[] {
  const view = createViewBuilder(context.services, boundaryId)
  return resources
    .filter((resource) => mayRead(context, boundaryId, resource))
    .map(({ kind, object, resourceGroup }) => ({ ...view(object, resourceGroup), collection: kind.segment }))
}

/** Returns the shape of lists over kinds; `isAcross` several groups, it includes the group. */
function summaryShape(isAcross: boolean): ListShape<SummaryView> {
  const shape = resourceShape({ dto: ResourceSummaryDto }, isAcross) as unknown as ListShape<SummaryView>
  const { name, ...others } = shape.fields
  return {
    ...shape,
    fields: {
      ...(name !== undefined && { name }),
      collection: enumeration(
        'Collection',
        RESOURCE_KINDS.map(({ segment }) => segment),
      ),
      resourceGroup: text('Resource group'),
      ...others,
      status: enumeration('Status', STATUSES, { of: ({ object }) => recordStatusOf(object) }),
    },
  }
}

const groupResourcesShape = summaryShape(false)
const boundaryResourcesShape = summaryShape(true)

function displayNameOf({ services }: Context, boundaryId: string): string {
  return services.records.peek(Boundary, { name: boundaryId })?.spec.displayName ?? ''
}

function toDto(context: Context, boundaryId: string, group: GroupRecord): ResourceGroupDto {
  return groupDto(context.services, groupView(context, group, displayNameOf(context, boundaryId)))
}

async function listGroups(context: Context<'boundaryId'>) {
  const { services, caller, parameters, fresh } = context
  const { boundaryId } = parameters
  const boundary = await findVisibleBoundary(context, boundaryId)
  const groups = await services.records.list(ResourceGroup, { namespace: boundaryNamespace(boundaryId) }, { fresh })
  const rows = groups
    .filter(({ metadata: { name } }) =>
      services.access.isAllowed(caller.principalId, 'resourcegroups/read', groupScope(boundaryId, name)),
    )
    .map((group) => groupView(context, group, boundary.spec.displayName))
  return pagedParts(rows, context.list, groupShape, (view) => groupDto(services, view))
}

async function listInGroup(context: Context<'boundaryId' | 'resourceGroupName'>) {
  const { boundaryId, resourceGroupName } = context.parameters
  await findGroup(context, boundaryId, resourceGroupName)
  const resources = await readResources(context.services, boundaryId, [resourceGroupName], context.fresh)
  return pagedParts(readableViews(context, boundaryId, resources), context.list, groupResourcesShape, summaryDto)
}

async function listInBoundary(context: Context<'boundaryId'>) {
  const { boundaryId } = context.parameters
  await findVisibleBoundary(context, boundaryId)
  const groups = groupsOfBoundary(context.services, boundaryId).map(({ name }) => name)
  const resources = await readResources(context.services, boundaryId, groups, context.fresh)
  return pagedParts(readableViews(context, boundaryId, resources), context.list, boundaryResourcesShape, summaryDto)
}

/** Returns the config of a list that only requires sign-in; its actions are those of the caller at the boundary. */
async function boundaryConfig<Row>(
  context: Context<'boundaryId'>,
  shape: ListShape<Row>,
  collection: string,
  prefixes: readonly string[],
) {
  const { services, caller, parameters } = context
  await findVisibleBoundary(context, parameters.boundaryId)
  const scope = boundaryScope(parameters.boundaryId)
  const names = ACTIONS.map(({ name }) => name).filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
  return ok({
    ...listConfig(shape, { collection, context, actionPrefix: collection }),
    actions: names.filter((name) => services.access.isAllowed(caller.principalId, name, scope)),
  })
}

const CreateResourceGroupRequest = strictRecord('CreateResourceGroupRequest', {})

const groupRoutes: readonly RouteDraft[] = [
  route('GET', '{B}/resourcegroups', {
    auth: visibleBoundaryAuth('groups at which the caller has `resourcegroups/read`'),
    summary: 'The resource groups that the caller may read',
    list: groupShape,
    reply: pagedListOf(ResourceGroupDto),
    handler: listGroups,
  }),
  route('GET', '{B}/resourcegroups/config', {
    auth: visibleBoundaryAuth(),
    summary: 'How the list of groups can be sorted and filtered',
    reply: ListConfigDto,
    handler: (context) => boundaryConfig(context, groupShape, 'resourcegroups', ['resourcegroups/']),
  }),
  route('GET', '{B}/resourcegroups/{resourceGroupName}', {
    auth: action('resourcegroups/read'),
    summary: 'Read a group',
    reply: ResourceGroupDto,
    handler: async (context) => {
      const { boundaryId, resourceGroupName } = context.parameters
      const group = await findGroup(context, boundaryId, resourceGroupName, context)
      return ok(toDto(context, boundaryId, group), { etag: etagOf(group) })
    },
  }),
  route('POST', '{B}/resourcegroups/{resourceGroupName}', {
    auth: action('resourcegroups/write'),
    summary: 'Create a group; the same request again answers 200',
    body: CreateResourceGroupRequest,
    naming: { rule: resourceNameRule(), pattern: resourceNamePattern() },
    isBodyOptional: true,
    reply: ResourceGroupDto,
    handler: async (context) => {
      const { group, isNew } = await createGroup(context)
      const respond = isNew ? created : ok
      return respond(toDto(context, context.parameters.boundaryId, group), { etag: etagOf(group) })
    },
  }),
  route('PATCH', '{B}/resourcegroups/{resourceGroupName}', {
    auth: action('resourcegroups/write'),
    further: '`boundaries/manage` at the boundary to change the quota',
    summary: 'JSON Merge Patch (RFC 7396) of tags and quota',
    body: PatchResourceGroupRequest,
    mediaTypes: ['application/merge-patch+json', 'application/json'],
    example: { tags: { team: 'search' }, quota: { cpu: '4' } },
    reply: ResourceGroupDto,
    handler: async (context) => {
      const { boundaryId } = context.parameters
      const group = await changeGroup(context)
      return ok(toDto(context, boundaryId, group), { etag: etagOf(group) })
    },
  }),
  route('DELETE', '{B}/resourcegroups/{resourceGroupName}', {
    auth: action('resourcegroups/delete'),
    summary: 'Delete a group and everything in it',
    handler: async (context) => ((await deleteGroup(context)).isGone ? noContent() : acceptedEmpty()),
  }),
]

const resourceRoutes: readonly RouteDraft[] = [
  route('GET', '{RG}', {
    auth: action('resourcegroups/read'),
    summary: 'Resources of every kind in a group',
    list: groupResourcesShape,
    reply: pagedListOf(ResourceSummaryDto),
    handler: listInGroup,
  }),
  route('GET', '{RG}/{resourceName}/validate', {
    auth: action('resourcegroups/read'),
    // The name is in no collection yet, so the permission is checked at the group, the closest scope.
    scope: 'resource',
    summary: 'Whether a name is available for a new resource',
    query: z.object({
      collection: z
        .enum(RESOURCE_KINDS.map(({ segment }) => segment))
        .optional()
        .describe('Only resources of this collection count; all when absent'),
    }),
    reply: ResourceNameValidationDto,
    handler: async (context) => {
      const { boundaryId, resourceGroupName, resourceName } = context.parameters
      const { collection } = context.query
      await findGroup(context, boundaryId, resourceGroupName)
      const resources = await readResources(context.services, boundaryId, [resourceGroupName], context.fresh)
      const isSelected = (kind: AnyKind) => collection === undefined || kind.segment === collection
      const namespace = groupNamespace(boundaryId, resourceGroupName)
      const selectedKinds = RESOURCE_KINDS.filter(isSelected)
      const use: NameUse = {
        least: Math.min(...selectedKinds.map(({ nameMin = 1 }) => nameMin)),
        holders: resources.filter(({ kind, object }) => isSelected(kind) && object.metadata.name === resourceName),
        isReadable: (resource) => mayRead(context, boundaryId, resource),
        takenElsewhere: selectedKinds
          .filter((kind) => isTakenElsewhere(context.services, kind, { namespace, name: resourceName }))
          .map(({ segment }) => segment),
      }
      return ok(validateName(resourceName, context.services.reservedNames, use))
    },
  }),
  route('GET', '{B}/resources', {
    auth: visibleBoundaryAuth('resources that the caller may read'),
    summary: 'Resources of every kind in a boundary, as far as the caller may read them',
    list: boundaryResourcesShape,
    reply: pagedListOf(ResourceSummaryDto),
    handler: listInBoundary,
  }),
  route('GET', '{B}/resources/config', {
    auth: visibleBoundaryAuth(),
    summary: 'How the list of resources can be sorted and filtered',
    reply: ListConfigDto,
    handler: (context) => {
      const prefixes = RESOURCE_KINDS.map(({ actions, plural }) => `${actions ?? plural}/`)
      return boundaryConfig(context, boundaryResourcesShape, 'resources', prefixes)
    },
  }),
  route('GET', '/resourcegroups/by-namespace/{namespaceName}', {
    auth: action('resourcegroups/read'),
    scope: 'resourceGroup',
    scopeFrom: ({ namespaceName = '' }, services) => ownerOfNamespace(services, namespaceName)?.scope,
    summary: 'The owner of a namespace',
    reply: NamespaceOwnerDto,
    handler: (context) => {
      const { namespaceName } = context.parameters
      const owner = ownerOfNamespace(context.services, namespaceName)
      if (owner === undefined) throw notFound(`A boundary or group with the namespace "${namespaceName}"`)
      const { id: clusterId } = defaultCluster(context.services)
      return ok({ namespace: namespaceName, boundary: displayNameOf(context, owner.boundaryId), clusterId, ...owner })
    },
  }),
]

/** All routes of section 4.14 of the interface except the two about orphaned grants. */
export const resourceGroupRoutes: readonly RouteDraft[] = [...groupRoutes, ...resourceRoutes]
