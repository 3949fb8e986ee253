import { z } from 'zod'
import { idOf } from '../core/ids.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { ObjectMeta } from '../core/object.ts'
import { type AnyKind, defineKind, type ObjectOf, statusColumns, statusWith } from './define.ts'
import { integerBetween, Off, PlainText, ResourceName } from './fields.ts'

/** The collections of the interface whose resources run code and may have an identity of their own. */
export const CODE_COLLECTIONS = ['apps', 'containerinstances', 'staticwebapps', 'jobs', 'functionnamespaces'] as const

export const CodeCollection = z.enum(CODE_COLLECTIONS)
export const ResourceUid = PlainText.min(1).max(128)

/** An identity that the code of one resource signs in with; it is deleted with the resource. */
export const ManagedIdentity = defineKind({
  group: 'iam',
  kind: 'ManagedIdentity',
  shortNames: ['mi'],
  placement: 'group',
  name: 'uuid',
  area: 'managedidentities',
  aggregate: false,
  forms: { 'managedidentities/readSecrets': ['readsecrets'] },
  description: 'A service account of one resource that runs code. Its name is a uuid, the id of the identity.',
  spec: z.strictObject({
    resourceName: ResourceName.describe('Name of the resource in the same namespace; immutable'),
    resourceType: CodeCollection.describe('Collection of the resource, as URLs of REST name it; immutable'),
    resourceUid: ResourceUid.describe(
      'metadata.uid of the resource, as kubectl shows it: a namesake created later is another resource; immutable',
    ),
    secretVersion: integerBetween(1, 1000000)
      .default(1)
      .describe('Number of the credentials: raising it by one issues new ones and revokes the old'),
    mounted: Off.describe('True also keeps the credentials in a Secret of the group, which pods of the resource mount'),
  }),
  status: statusWith({
    principalId: z.string().describe('Id that assignments name; also client id and subject of its tokens'),
    secretName: z.string().describe('The Secret with the credentials, in the namespace of the platform'),
    secretVersion: z.int().describe('Number of the credentials that work now'),
    mounted: z.boolean().describe('Whether the Secret of the group holds them'),
  }),
  immutable: ['resourceName', 'resourceType', 'resourceUid'],
  rules: [
    {
      cel: 'self.secretVersion >= oldSelf.secretVersion && self.secretVersion <= oldSelf.secretVersion + 1',
      message: 'secretVersion must grow by one at a time: each step makes one new secret',
      field: 'secretVersion',
      test: (next, previous) =>
        next.secretVersion === previous.secretVersion || next.secretVersion === previous.secretVersion + 1,
    },
    {
      cel: '!self.mounted || oldSelf.mounted || self.secretVersion > oldSelf.secretVersion',
      message: 'mounted needs new credentials, because nobody may read the old ones: secretVersion must grow with it',
      field: 'mounted',
      test: (next, previous) => !next.mounted || previous.mounted || next.secretVersion > previous.secretVersion,
    },
  ],
  columns: [
    ...statusColumns,
    { name: 'Type', path: '.spec.resourceType' },
    { name: 'Resource', path: '.spec.resourceName' },
    { name: 'Principal', path: '.status.principalId' },
  ],
})
export type ManagedIdentity = ObjectOf<typeof ManagedIdentity>

export function identityIdOf({ metadata: { name } }: { metadata: Pick<ObjectMeta, 'name'> }): string {
  const { group, kind } = ManagedIdentity.resource
  return idOf({ group, kind, name })
}

type Identified = { metadata: ObjectMeta; spec: { resourceName: string; resourceUid: string } }

/** Returns the kind of a collection; undefined if its resources run no code, or this platform does not serve it. */
export function workloadKind(kinds: readonly AnyKind[], resourceType: string): AnyKind | undefined {
  if (!CODE_COLLECTIONS.some((name) => name === resourceType)) return undefined
  return kinds.find((kind) => kind.segment === resourceType && kind.placement === 'group')
}

/** Whether the object is the live resource of that name and uid. */
export function isWorkload(
  object: { metadata: ObjectMeta } | undefined,
  { resourceName, resourceUid }: Identified['spec'],
): boolean {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false
  return object.metadata.name === resourceName && object.metadata.uid === resourceUid
}

/** Whether the identity was bound to its resource before, so that it must be deleted once the resource is gone. */
export function wasBoundToWorkload({ metadata }: Identified): boolean {
  return (metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? '') !== ''
}

/**
 * Whether the object is the resource of the identity: by uid, or, after a restore from backup, which changes every uid,
 * by the incarnation that the identity was bound to.
 */
export function isWorkloadOf(object: { metadata: ObjectMeta } | undefined, identity: Identified): boolean {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false
  if (isWorkload(object, identity.spec)) return true
  if (object.metadata.name !== identity.spec.resourceName || !wasBoundToWorkload(identity)) return false
  const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
  return incarnation === identity.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION]
}
