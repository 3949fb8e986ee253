import { z } from 'zod'
import { PLAN_FAMILIES } from '../core/sizing/plans.ts'
import { defineKind, type ObjectOf, READ } from './define.ts'
import { Bytes, Cores, Description, DisplayName, mapOf, Off, PlainText, whole } from './fields.ts'
import { PlanStorageClass } from './workloadFields.ts'
import { boundsRules } from './workloadRules.ts'

/** A size that resources are offered in. Administrators change the offer with kubectl. */
export const ComputePlan = defineKind({
  group: 'core',
  kind: 'ComputePlan',
  open: READ,
  shortNames: ['cplan'],
  placement: 'cluster',
  area: 'plans',
  description: 'Requests, limits, storage and replicas of the resources that name the plan.',
  spec: z.strictObject({
    family: z
      .enum(PLAN_FAMILIES)
      .describe('Kind of resource that may name the plan, such as Vector for a VectorCluster; immutable'),
    displayName: DisplayName.max(64).describe('A name for people, 1 to 64 characters'),
    description: Description.default(''),
    cpuRequest: Cores.describe('CPU that each replica is guaranteed, in cores, such as 500m'),
    cpuLimit: Cores.describe('Most CPU that each replica gets, in cores, such as 2'),
    memoryRequest: Bytes.describe('Memory that each replica is guaranteed, such as 512Mi'),
    memoryLimit: Bytes.describe('Most memory that each replica gets, such as 1Gi'),
    storageSize: Bytes.optional().describe(
      "Size of each replica's volume, such as 20Gi; when absent, resources that need one must say it",
    ),
    storageClass: PlanStorageClass.default('').describe(
      "StorageClass of the volumes; the cluster's default when empty",
    ),
    replicas: whole(0, 99).default(1).describe('Replicas of resources that name no number themselves'),
    isDefault: Off.describe('True for the plan of resources that name none; of several in a family the oldest'),
    deprecated: Off.describe('True limits the plan to resources that already have it; REST refuses it to all others'),
    extras: mapOf(PlainText.max(256), 32)
      .prefault({})
      .describe(
        'What only one family has: maxConnections of Relational is set, walStorageSize and maxEdition are shown',
      ),
  }),
  status: z.object({}),
  columns: [
    { name: 'Family', path: '.spec.family' },
    { name: 'CPU', path: '.spec.cpuRequest' },
    { name: 'Memory', path: '.spec.memoryRequest' },
    { name: 'Storage', path: '.spec.storageSize' },
    { name: 'Replicas', path: '.spec.replicas', type: 'integer' },
    { name: 'Default', path: '.spec.isDefault', type: 'boolean' },
  ],
  immutable: ['family'],
  rules: [
    ...boundsRules,
    {
      cel: '!self.isDefault || !self.deprecated',
      message: 'a deprecated plan cannot be the default: new resources may not use it',
      field: 'deprecated',
      test: ({ isDefault, deprecated }) => !isDefault || !deprecated,
    },
  ],
})
export type ComputePlan = ObjectOf<typeof ComputePlan>
