import { z } from 'zod'
import { type AdmissionRule, defineKind, type ObjectOf, statusColumns, statusWith } from './define.ts'
import { Quota, Tags } from './fields.ts'
import { denyDeleteWhileHeld, HeldBy } from './holders.ts'
import { celUnchanged } from './referenceAdmission.ts'
import { tagKeyRule } from './tags.ts'

/** Maximum entries; the last one also has the storage of all further resources. */
export const RETAINED_ENTRIES_MAX = 100

const RetainedStorage = z
  .array(
    z.strictObject({
      kind: z.string().describe('Kind of the resource that may adopt the volumes'),
      name: z.string().describe('Name that this resource had'),
      storage: z.string().describe('Requested storage of the volumes together'),
    }),
  )
  .max(RETAINED_ENTRIES_MAX)

/** Neither writers nor owners of a group may remove the limits that its boundary's Owner has set; as in REST. */
const quotaAdmission: AdmissionRule = {
  on: 'WRITE',
  cel: `variables.isExempt || (request.operation == 'CREATE' ? object.spec.?quota.orValue({}) == {} : ${celUnchanged('quota')}) || authorizer.group('freehold.dev').resource('boundaries').name(request.namespace.replace('boundary-', '', 1)).check('update').allowed()`,
  message: 'the quota of a ResourceGroup is written by those who may manage its boundary only',
}

/** A named part of a boundary. It is in the boundary's namespace and owns a namespace for its resources. */
export const ResourceGroup = defineKind({
  group: 'core',
  kind: 'ResourceGroup',
  shortNames: ['rg'],
  placement: 'boundary',
  area: 'resourcegroups',
  aggregate: true,
  actions: 'resourcegroups',
  description: 'A group of resources that are managed and deleted together, in a namespace of its own.',
  spec: z.strictObject({
    quota: Quota.omit({ resourceGroups: true })
      .prefault({})
      .describe('Limits over the resources of the group; changed by those who may manage its boundary'),
    tags: Tags.prefault({}),
  }),
  status: statusWith({
    namespace: z.string().describe('Namespace of the resources'),
    heldBy: HeldBy.describe(
      'Protected resources in it, as `<resource>/<name>`, at most 50: the group cannot be deleted while there are any',
    ),
    retainedStorage: RetainedStorage.describe(
      'Volumes that were retained when resources were deleted, by resource; they count as storage in usage and quotas',
    ),
  }),
  admission: [
    denyDeleteWhileHeld('holds protected resources or kept volumes', 'remove the protection, or delete them first'),
    quotaAdmission,
  ],
  rules: [tagKeyRule],
  columns: [...statusColumns, { name: 'Namespace', path: '.status.namespace' }],
})
export type ResourceGroup = ObjectOf<typeof ResourceGroup>
