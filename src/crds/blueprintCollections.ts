import { z } from 'zod'
import { functionObjectName } from '../contracts/functions.ts'
import { storeBucketName } from '../contracts/objectstorage.ts'
import { OUTPUTS, type OutputCollection } from '../contracts/references.ts'
import { entryName } from '../contracts/vaults/names.ts'
import type { ActionName } from '../core/actions.ts'
import { uuidV5 } from '../core/ids.ts'
import type { AnyKind } from './define.ts'
import { ServerlessFunction } from './functions.ts'
import { RESOURCE_KINDS } from './index.ts'
import { AccountBucket, ObjectAccessKey } from './objectstorage.ts'
import { RoleAssignment } from './rbac.ts'
import { VaultEntry } from './vaults.ts'

/** What a component of a blueprint may create. */
export type BlueprintCollection = {
  readonly collection: string
  readonly kind: AnyKind
  /** The action that the creator needs in the group. */
  readonly action: ActionName
  /** For a part of another resource: the field of its spec that names that resource, and the one with its own name. */
  readonly part?: {
    readonly parentField: string
    readonly parentCollection: string
    readonly nameField?: string
    /** Fields of the spec that templates cannot set. */
    readonly hidden: readonly string[]
  }
  /** Returns the object's name. @param parent of a part */
  readonly objectName: (name: string, parent: string) => string
  /** Plain fields that expressions may name. */
  readonly fields: ReadonlySet<string>
}

const sameName = (name: string) => name

const RESOURCES: BlueprintCollection[] = RESOURCE_KINDS.map((kind) => ({
  collection: kind.segment,
  kind,
  action: `${kind.actions}/write` as ActionName,
  objectName: sameName,
  fields: plainFields(kind, kind.segment),
}))

const PARTS: BlueprintCollection[] = [
  {
    collection: 'secrets',
    kind: VaultEntry,
    action: 'secretvault/writeSecrets',
    part: {
      parentField: 'vaultName',
      parentCollection: 'secretvaults',
      nameField: 'secretName',
      hidden: ['history', 'state', 'valueFrom', 'mountAs'],
    },
    objectName: (name, vault) => entryName(vault, name),
    fields: new Set(['id', 'name']),
  },
  {
    collection: 'buckets',
    kind: AccountBucket,
    action: 'objectbuckets/write',
    part: {
      parentField: 'accountName',
      parentCollection: 'objectstorageaccounts',
      nameField: 'bucketName',
      hidden: ['forceDelete'],
    },
    objectName: (name, account) => storeBucketName(account, name),
    fields: new Set(['id', 'name', 'storeName']),
  },
  {
    collection: 'accesskeys',
    kind: ObjectAccessKey,
    action: 'objectaccesskeys/write',
    part: {
      parentField: 'accountName',
      parentCollection: 'objectstorageaccounts',
      hidden: ['managedIdentityId', 'isSession', 'prefix'],
    },
    objectName: sameName,
    fields: new Set(['id', 'name', 'accessKeyId']),
  },
  {
    collection: 'functions',
    kind: ServerlessFunction,
    action: 'functions/write',
    part: {
      parentField: 'namespaceName',
      parentCollection: 'functionnamespaces',
      nameField: 'functionName',
      hidden: [],
    },
    objectName: (name, namespace) => functionObjectName(namespace, name),
    fields: new Set(['id', 'name']),
  },
]

const GRANTS: BlueprintCollection = {
  collection: 'roleassignments',
  kind: RoleAssignment,
  action: 'rbac/members/write',
  // One per name of a resource in a deployment: the name has no other meaning.
  objectName: (name, group) => uuidV5(`blueprint/${group}/${name}`),
  fields: new Set(['id', 'name']),
}

/** Every collection that components may name. */
export const BLUEPRINT_COLLECTIONS: ReadonlyMap<string, BlueprintCollection> = new Map(
  [...RESOURCES, ...PARTS, GRANTS].map((each) => [each.collection, each]),
)

/** Returns the text, number and boolean fields of spec and status, and the plain outputs. */
function plainFields({ spec, status }: AnyKind, segment: string): ReadonlySet<string> {
  const outputs = Object.hasOwn(OUTPUTS, segment) ? OUTPUTS[segment as OutputCollection].plain : []
  const scalars = [...Object.entries(spec.shape), ...Object.entries(status.shape)].flatMap(([name, schema]) =>
    isScalar(schema as z.ZodType) ? [name] : [],
  )
  return new Set(['id', 'name', ...outputs, ...scalars])
}

function isScalar(schema: z.ZodType): boolean {
  let value: z.ZodType = schema
  while (value instanceof z.ZodOptional || value instanceof z.ZodDefault || value instanceof z.ZodPrefault)
    value = value.unwrap() as z.ZodType
  return (
    value instanceof z.ZodString ||
    value instanceof z.ZodNumber ||
    value instanceof z.ZodBoolean ||
    value instanceof z.ZodEnum
  )
}
