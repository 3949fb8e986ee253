import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { Description, DisplayName, Quantity } from './fields.ts'

export const PLAN_FAMILIES = ['Vector', 'Relational', 'Sql', 'ContainerInstance', 'App', 'Function', 'Job'] as const
export type PlanFamily = (typeof PLAN_FAMILIES)[number]

/** A size that resources are offered in. Administrators change the offer with kubectl. */
export const ComputePlan = defineKind({
  group: 'core',
  kind: 'ComputePlan',
  plural: 'computeplans',
  open: ['get', 'list', 'watch'],
  shortNames: ['cplan'],
  placement: 'cluster',
  area: 'plans',
  description: 'Requests, limits, storage and replicas that a resource takes by naming the plan.',
  spec: z.strictObject({
    family: z.enum(PLAN_FAMILIES),
    displayName: DisplayName.max(64),
    description: Description.default(''),
    cpuRequest: Quantity,
    cpuLimit: Quantity,
    memoryRequest: Quantity,
    memoryLimit: Quantity,
    storageSize: Quantity.optional(),
    storageClass: z.string().max(63).default('').describe('The default storage class when empty'),
    replicas: z.int().min(0).max(99).default(1),
    isDefault: z.boolean().default(false),
    deprecated: z.boolean().default(false).describe('Shown, but refused for new resources'),
    extras: z.record(z.string(), z.string().max(256)).meta({ maxProperties: 32 }).prefault({}),
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
})
export type ComputePlan = ObjectOf<typeof ComputePlan>
