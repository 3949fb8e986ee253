import { z } from 'zod'
import { defineKind, type ObjectOf, resourceStatus, statusColumns } from './define.ts'
import { Quota, Tags } from './fields.ts'
import { HeldBy, notWhileHeld } from './held.ts'
import { tagKeyRule } from './tags.ts'

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
      'What is to be kept in it, as <collection>/<name>, the first 50: while there is anything, it is not deleted',
    ),
  }),
  admission: [notWhileHeld],
  rules: [tagKeyRule],
  columns: [...statusColumns, { name: 'Namespace', path: '.status.namespace' }],
})
export type ResourceGroup = ObjectOf<typeof ResourceGroup>
