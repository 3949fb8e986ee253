import { z } from 'zod'
import { CROSSLINK_NAME } from '../../contracts/crosslink.ts'
import { RESOURCE_STATES, summaryOf } from '../../core/conditions.ts'
import { createdByOf, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import { DisplayName } from '../../crds/fields.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { PlatformTenant, RoleAssignment } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { type BoundaryRecord, boundaryScope, groupScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { countedInBoundary, isTopLevelResource } from '../resources/contents.ts'
import { DateTime, Tags, Uuid } from '../resources/dto.ts'
import { defaultClusterOf } from '../resources/find.ts'
import { mayRead } from '../resources/holders.ts'
import { dateTime, enumeration, type ListShape, text } from '../resources/paging.ts'
import { BoundaryQuotaDto, quotaDto } from '../resources/quotaRecord.ts'
import { usageOf } from '../resources/usage.ts'

export const BoundaryDto = namedRecord('BoundaryDto', {
  id: Uuid,
  displayName: z.string(),
  tenantId: Uuid.nullable(),
  tenantName: z.string().nullable(),
  namespace: z.string(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  status: z.enum(RESOURCE_STATES),
  phase: z.string().nullable(),
  statusMessage: z.string().nullable(),
  resourceGroupCount: z.int().describe('Groups that the caller may read'),
  resourceCount: z.int().describe('Resources that the caller may read'),
  memberCount: z.int().describe('People, groups and service accounts with a role in the boundary itself'),
  projectionCount: z.int(),
  defaultClusterId: Uuid,
  crosslinkEnabled: z.boolean(),
  quota: BoundaryQuotaDto,
  usage: BoundaryQuotaDto.describe('What counts under the quota, whoever may read it'),
  permissions: z.array(z.string()).nullable().describe('What this caller may do at the boundary; null in lists'),
  tags: Tags,
})
export type BoundaryDto = z.output<typeof BoundaryDto>

export const BoundaryBody = z.strictObject({ displayName: DisplayName })

/** Returns the record as in lists. All counts are computed on the fly. */
export function boundaryDto(context: Context, boundary: BoundaryRecord): BoundaryDto {
  const { services, caller } = context
  const { metadata, spec } = boundary
  const id = metadata.name
  const crosslink = { namespace: boundaryNamespace(id), name: CROSSLINK_NAME }
  const counted = countedInBoundary(services, id)
  const groups = services.records.peekAll(ResourceGroup, { namespace: boundaryNamespace(id) })
  const isRead = ({ metadata: { name } }: (typeof groups)[number]) =>
    services.access.isAllowed(caller.principalId, 'resourcegroups/read', groupScope(id, name))
  return {
    id,
    displayName: spec.displayName,
    tenantId: spec.tenantId ?? null,
    tenantName: tenantName(services, spec.tenantId),
    namespace: boundaryNamespace(id),
    createdAt: createdAtOf(metadata),
    createdBy: createdByOf(metadata),
    ...summaryOf(boundary),
    resourceGroupCount: groups.filter(isRead).length,
    resourceCount: counted.filter(isTopLevelResource).filter((resource) => mayRead(context, id, resource)).length,
    memberCount: countMembers(services, boundary),
    projectionCount: services.records.peekAll(BoundaryProjection, { namespace: boundaryNamespace(id) }).length,
    defaultClusterId: defaultClusterOf(services, id).id,
    crosslinkEnabled: services.records.peek(BoundaryCrosslink, crosslink)?.spec.enabled === true,
    quota: quotaDto(spec.quota),
    usage: quotaDto({ ...usageOf(services, groups, counted), resourceGroups: groups.length }),
    permissions: null,
    tags: spec.tags,
  }
}

/** Returns the record of a single read, which includes the caller's permissions. */
export function shownBoundary(context: Context, boundary: BoundaryRecord): BoundaryDto {
  const { services, caller } = context
  const permissions = services.access.permissionsAt(caller.principalId, boundaryScope(boundary.metadata.name))
  return { ...boundaryDto(context, boundary), permissions }
}

function tenantName({ records }: Services, tenantId: string | undefined): string | null {
  if (tenantId === undefined) return null
  return records.peek(PlatformTenant, { name: tenantId })?.spec.displayName ?? null
}

/** Counts the principals with a role at the boundary, including the first owner before their assignment is written. */
function countMembers({ records, clock }: Services, { metadata, spec }: BoundaryRecord): number {
  const isAssigned = metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined
  const members = new Set(spec.initialOwner === undefined || isAssigned ? [] : [spec.initialOwner.principalId])
  for (const { spec: assignment } of records.peekAll(RoleAssignment, { namespace: boundaryNamespace(metadata.name) })) {
    const isExpired = assignment.expiresAt !== undefined && Date.parse(assignment.expiresAt) <= clock.now()
    if (!isExpired) members.add(assignment.principalId)
  }
  return members.size
}

export const boundaryShape: ListShape<BoundaryRecord> = {
  fields: {
    displayName: text('Name', { of: ({ spec }) => spec.displayName, isSearched: true }),
    status: enumeration('Status', RESOURCE_STATES, { of: (boundary) => summaryOf(boundary).status }),
    tenantId: text('Tenant', { of: ({ spec }) => spec.tenantId, isShown: false }),
    createdAt: dateTime('Created', { of: ({ metadata }) => metadata.creationTimestamp }),
  },
  defaultSort: 'displayName',
  nameOf: ({ spec }) => spec.displayName,
  idOf: ({ metadata }) => metadata.name,
}
