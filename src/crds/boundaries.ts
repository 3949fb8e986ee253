import { z } from 'zod'
import { defineKind, type ObjectOf, statusColumns, statusWith } from './define.ts'
import { DisplayName, Quota, Tags, Uuid } from './fields.ts'
import { denyDeleteWhileHeld, HeldBy } from './holders.ts'
import { tagKeyRule } from './tags.ts'

/** The top-level unit of tenancy. Its name is the boundaryId; it owns the namespace `boundary-<id>`. */
export const Boundary = defineKind({
  group: 'core',
  kind: 'Boundary',
  shortNames: ['bnd'],
  placement: 'cluster',
  name: 'uuid',
  area: 'boundaries',
  actions: 'boundaries',
  forms: { 'boundaries/manage': ['update', 'patch'], 'boundaries/delete': [] },
  restOnly: [
    // Through REST the creator of a boundary becomes its Owner, and only an empty boundary is deleted.
    'boundaries/create',
    'boundaries/delete',
    'boundaries/invitations/create',
    'boundaries/invitations/read',
    'boundaries/members/read',
    'boundaries/network/read',
    'boundaries/tenant/admin',
  ],
  protectedFields: { quota: 'administrators', tenantId: 'administrators' },
  description:
    'A tenant boundary: members, resource groups and everything in them. Its name is a uuid, the boundaryId.',
  spec: z.strictObject({
    displayName: DisplayName.describe('Name of the boundary for people; need not be unique'),
    tenantId: Uuid.optional().describe(
      'Id of the PlatformTenant that the boundary belongs to; none when absent; changed by administrators',
    ),
    initialOwner: z
      .strictObject({
        principalId: Uuid.describe('Id of the person or service account'),
        principalType: z
          .enum(['User', 'ServicePrincipal'])
          .describe('User is a person, ServicePrincipal a service account'),
      })
      .optional()
      .describe('Becomes Owner once, and counts as Owner until the assignment is written; none when absent; immutable'),
    quota: Quota.prefault({}).describe('Limits over all resource groups together; changed by administrators'),
    tags: Tags.prefault({}),
  }),
  status: statusWith({
    namespace: z.string().describe('Namespace of the resource groups and access control of the boundary'),
    heldBy: HeldBy.describe(
      'Its resource groups, as `resourcegroups/<name>`, at most 50: the boundary cannot be deleted while there are any',
    ),
  }),
  admission: [denyDeleteWhileHeld('still has resource groups', 'delete them first')],
  immutable: ['initialOwner'],
  rules: [tagKeyRule],
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    ...statusColumns,
    { name: 'Namespace', path: '.status.namespace', priority: 1 },
  ],
  selectable: ['spec.tenantId'],
})
export type Boundary = ObjectOf<typeof Boundary>
