import { z } from 'zod'
import { PLAN_FAMILIES } from '../core/sizing/plans.ts'
import { defineKind, type ObjectOf, READ_VERBS } from './define.ts'
import { Bytes, Cores, Description, DisplayName, integerBetween, mapOf, Off, PlainText } from './fields.ts'
import { PlanStorageClass } from './workloadFields.ts'
import { requestLimitRules } from './workloadRules.ts'

/** A size that resources are offered in. Administrators change the offer with kubectl. */
export const ComputePlan = defineKind({
  group: 'core',
  kind: 'ComputePlan',
  open: READ_VERBS,
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
    cpuRequest: Cores.describe('CPU request of each replica, in cores, such as 500m'),
    cpuLimit: Cores.describe('CPU limit of each replica, in cores, such as 2'),
    memoryRequest: Bytes.describe('Memory request of each replica, such as 512Mi'),
    memoryLimit: Bytes.describe('Memory limit of each replica, such as 1Gi'),
    storageSize: Bytes.optional().describe(
      "Size of each replica's volume, such as 20Gi; when absent, resources that need a volume must set it",
    ),
    storageClass: PlanStorageClass.default('').describe(
      "StorageClass of the volumes; the cluster's default when empty",
    ),
    replicas: integerBetween(0, 99).default(1).describe('Number of replicas of resources that set none'),
    isDefault: Off.describe(
      'True for the plan of resources that name none; if a family has several, the oldest one counts',
    ),
    deprecated: Off.describe('True limits the plan to resources that already use it; REST refuses it for all others'),
    extras: mapOf(PlainText.max(256), 32)
      .prefault({})
      .describe(
        'Values of single families: maxConnections of Relational is applied, walStorageSize and maxEdition are only shown',
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
    ...requestLimitRules,
    {
      cel: '!self.isDefault || !self.deprecated',
      message: 'a deprecated plan cannot be the default: new resources may not use it',
      field: 'deprecated',
      test: ({ isDefault, deprecated }) => !isDefault || !deprecated,
    },
  ],
})
export type ComputePlan = ObjectOf<typeof ComputePlan>
