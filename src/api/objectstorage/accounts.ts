import { PlatformError } from '../../core/errors.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import type { RouteDraft } from '../http/route.ts'
import { resource } from '../resources/resource.ts'
import { type AccountObject, type AccountView, accountRecord, bucketsOf, COLLECTION, useOfAccount } from './record.ts'

/** List, read, create, replace, patch, delete, the list over groups and its configuration (interface section 4.12). */
export const accountRoutes: readonly RouteDraft[] = resource(ObjectStorageAccount, {
  segment: COLLECTION,
  actionPrefix: COLLECTION,
  plural: 'ObjectStorageAccounts',
  singular: 'ObjectStorageAccount',
  ...accountRecord,
  omit: ['config', 'action', 'getScale', 'scale'],
  beforeDelete: refuseDeletion,
  fields: {
    enablePublicAccess: {
      title: 'Public access',
      type: 'boolean',
      of: ({ object }) => object.spec.enablePublicAccess,
      isSorted: false,
    },
    usedBytes: {
      title: 'Used bytes',
      type: 'number',
      of: ({ object, services }) => useOfAccount(services, object).usedBytes,
      isFiltered: false,
    },
    bucketCount: {
      title: 'Buckets',
      type: 'number',
      of: ({ object, services }) => useOfAccount(services, object).bucketCount,
      isFiltered: false,
    },
  },
  // The interface names no operations in this area.
}).map((draft) => ({ ...draft, operation: undefined }))

function refuseDeletion({ object, services, resourceGroup }: AccountView): void {
  refuseProtected(object)
  const buckets = bucketsOf(services, object.metadata.namespace, object.metadata.name)
  if (buckets.length === 0) return
  const usedBy = buckets
    .slice(0, 50)
    .map(({ spec }) => ({ collection: 'buckets', resourceGroup, name: spec.bucketName }))
  throw new PlatformError('IN_USE', `"${object.metadata.name}" has buckets: delete them first.`, { usedBy })
}

function refuseProtected({ spec, metadata }: AccountObject): void {
  if (!spec.deletionProtection) return
  const message = `"${metadata.name}" is protected from deletion: set deletionProtection to false first.`
  throw new PlatformError('DELETION_PROTECTED', message)
}
