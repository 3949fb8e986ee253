import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'

/**
 * Holds a name that must be unique on the platform. The object's own name is a hash of type and value, so that etcd
 * decides who was first.
 */
export const NameClaim = defineKind({
  group: 'core',
  kind: 'NameClaim',
  plural: 'nameclaims',
  shortNames: ['nclaim'],
  placement: 'cluster',
  name: 'free',
  area: 'nameclaims',
  aggregate: false,
  description: 'A platform-wide name (a host, a vault, a storage account) and the resource that holds it.',
  spec: z.strictObject({
    type: z.enum(['Host', 'Vault', 'StorageAccount', 'StoreBucket']),
    value: z.string().min(1).max(253),
    holder: z.strictObject({
      kind: z.string().max(63),
      namespace: z.string().max(63),
      name: z.string().max(63),
      incarnation: z.string().max(64).describe('Of the holder, so that a thing made anew does not inherit the name'),
    }),
  }),
  status: z.object({}),
  immutable: ['type', 'value', 'holder'],
  columns: [
    { name: 'Type', path: '.spec.type' },
    { name: 'Value', path: '.spec.value' },
    { name: 'Holder', path: '.spec.holder.name' },
    { name: 'Holder Namespace', path: '.spec.holder.namespace' },
  ],
})
export type NameClaim = ObjectOf<typeof NameClaim>
