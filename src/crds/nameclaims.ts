import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { PlainText } from './fields.ts'

/**
 * Reserves a name that must be unique on the platform. The object's own name is a hash of type and value, so that etcd
 * decides who was first.
 */
export const NameClaim = defineKind({
  group: 'core',
  kind: 'NameClaim',
  shortNames: ['nclaim'],
  placement: 'cluster',
  name: 'free',
  area: 'nameclaims',
  writtenByPlatform: 'the platform claims names for resources; a name claimed by hand would be lost to everybody',
  description: 'A platform-wide name (a host, a vault, a storage account) and the resource that holds it.',
  spec: z.strictObject({
    type: z
      .enum(['Host', 'Vault', 'StorageAccount', 'StoreBucket', 'FunctionPath'])
      .describe(
        'What is named: a public host, a vault, a storage account, a bucket at the object store, or a path of functions; immutable',
      ),
    value: PlainText.min(1).max(253).describe('The name that is unique among those of its type; immutable'),
    holder: z
      .strictObject({
        kind: PlainText.max(63).describe('Kind of the resource, such as VectorCluster'),
        namespace: PlainText.max(63).describe('Namespace of the resource'),
        name: PlainText.max(63).describe('Name of the resource'),
        incarnation: PlainText.max(64).describe(
          'Incarnation of the resource, so that a recreated one does not inherit the name',
        ),
      })
      .describe('The resource that holds the name; immutable'),
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
