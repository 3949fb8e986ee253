import { PlatformError } from '../../core/errors.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import type { RouteDraft } from '../http/route.ts'
import { flag, number } from '../resources/paging.ts'
import { resource } from '../resources/resource.ts'
import { bucketRoutes } from './buckets.ts'
import { insightRoutes } from './insight.ts'
import { keyRoutes } from './keys.ts'
import { type AccountView, accountRecord, accountUsage, bucketsOf } from './record.ts'
import { sessionRoutes } from './sessions.ts'

/** List, read, create, replace, patch, delete, the list over groups and its configuration (interface section 4.12). */
const accountRoutes: readonly RouteDraft[] = resource(ObjectStorageAccount, {
  ...accountRecord,
  example: { maxBuckets: 10 },
  beforeDelete: refuseDeletion,
  deletesAtOnce: true,
  fields: {
    enablePublicAccess: flag('Public access'),
    usedBytes: number('Used bytes', {
      of: ({ object, services }) => accountUsage(services, object).usedBytes,
      isFiltered: false,
    }),
    bucketCount: number('Buckets', {
      of: ({ object, services }) => accountUsage(services, object).bucketCount,
      isFiltered: false,
    }),
  },
})

function refuseDeletion({ object, services, resourceGroup }: AccountView): void {
  const buckets = bucketsOf(services, object.metadata.namespace, object.metadata.name)
  if (buckets.length === 0) return
  const usedBy = buckets
    .slice(0, 50)
    .map(({ spec }) => ({ collection: 'buckets', resourceGroup, name: spec.bucketName }))
  throw new PlatformError('IN_USE', `"${object.metadata.name}" has buckets: delete them first.`, { usedBy })
}

/** The twenty-two routes of object storage (interface section 4.12). */
export const objectStorageRoutes: readonly RouteDraft[] = [
  ...accountRoutes,
  ...bucketRoutes,
  ...keyRoutes,
  ...sessionRoutes,
  ...insightRoutes,
]
