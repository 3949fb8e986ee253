import { z } from 'zod'
import { defineKind, type ObjectOf, resourceStatus, statusColumns } from './define.ts'
import { Quota, Tags } from './fields.ts'
import { HeldBy, notWhileHeld } from './held.ts'
import { tagKeyRule } from './tags.ts'

/** More are not told one by one: the last entry has the storage of the rest. */
export const MOST_RETAINED_TOLD = 100

const RetainedStorage = z
  .array(
    z.strictObject({
      kind: z.string().describe('Kind of the resource that may adopt the volumes'),
      name: z.string().describe('Name that this resource had'),
      storage: z.string().describe('What the volumes ask for together'),
    }),
  )
  .max(MOST_RETAINED_TOLD)

/** A named part of a boundary. It stands in the boundary's namespace and owns one for its resources. */
export const ResourceGroup = defineKind({
  group: 'core',
  kind: 'ResourceGroup',
  plural: 'resourcegroups',
  shortNames: ['rg'],
  placement: 'boundary',
  area: 'resourcegroups',
  actions: 'resourcegroups',
  protectedFields: { quota: 'administrators' },
  description: 'A group of resources that are managed and deleted together, in a namespace of its own.',
  spec: z.strictObject({
    quota: Quota.omit({ resourceGroups: true })
      .prefault({})
      .describe('Limits over the resources of the group; changed by administrators'),
    tags: Tags.prefault({}),
  }),
  status: resourceStatus.extend({
    namespace: z.string().optional().describe('Namespace where the resources stand'),
    heldBy: HeldBy.describe(
      'Protected resources in it, as <collection>/<name>, at most 50: the group cannot be deleted while there are any',
    ),
    retainedStorage: RetainedStorage.optional().describe(
      'Volumes that were kept when resources were deleted, by resource: they count as storage in usage and quotas',
    ),
  }),
  admission: [notWhileHeld],
  rules: [tagKeyRule],
  columns: [...statusColumns, { name: 'Namespace', path: '.status.namespace' }],
})
export type ResourceGroup = ObjectOf<typeof ResourceGroup>
