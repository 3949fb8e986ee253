import { ACCOUNT_NAME_MIN_LENGTH, accountLacks } from '../../contracts/objectstorage.ts'
import { badRequest, PlatformError } from '../../core/errors.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import type { RouteDraft } from '../http/route.ts'
import { chooseCluster } from '../resources/chooseCluster.ts'
import { resource } from '../resources/resource.ts'
import type { WriteView } from '../resources/types.ts'
import {
  type AccountBody,
  type AccountObject,
  type AccountView,
  accountDto,
  accountRecord,
  bucketsOf,
  COLLECTION,
  useOfAccount,
} from './record.ts'
import { refuseLacking } from './store.ts'

/** List, read, create, replace, patch, delete, the list over groups and its configuration (interface section 4.12). */
export const accountRoutes: readonly RouteDraft[] = resource(ObjectStorageAccount, {
  segment: COLLECTION,
  actionPrefix: COLLECTION,
  plural: 'ObjectStorageAccounts',
  singular: 'ObjectStorageAccount',
  dto: accountRecord.dto,
  body: accountRecord.body,
  shownNames: accountRecord.shownNames,
  toDto: accountDto,
  toBody: ({ spec }) => ({ ...spec }),
  toSpec: accountSpec,
  omit: ['config', 'action', 'getScale', 'scale'],
  enumerations: { defaultVersioning: ['Off', 'Enabled'] },
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

/** @throws PlatformError BAD_REQUEST, CLUSTER_NOT_PROJECTED, FEATURE_UNSUPPORTED */
function accountSpec(body: AccountBody, view: WriteView<typeof ObjectStorageAccount>): object {
  if (view.form === 'create') checkName(view)
  const spec = {
    clusterId: chooseCluster(body.clusterId, view),
    quotaBytes: body.quotaBytes ?? undefined,
    quotaObjects: body.quotaObjects ?? undefined,
    maxBuckets: body.maxBuckets,
    enablePublicAccess: body.enablePublicAccess,
    defaultVersioning: body.defaultVersioning,
    auditEnabled: body.auditEnabled,
    deletionProtection: body.deletionProtection,
    tags: body.tags,
  }
  const features = view.services.objectStorage.store?.info.features
  if (features !== undefined) refuseLacking(accountLacks(spec, features))
  return spec
}

function checkName({ name }: WriteView<typeof ObjectStorageAccount>): void {
  if (name.length < ACCOUNT_NAME_MIN_LENGTH) {
    throw badRequest(`The name "${name}" cannot be given.`, [
      { field: 'name', message: `an account has a name of at least ${ACCOUNT_NAME_MIN_LENGTH} characters` },
    ])
  }
}

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
