import { accountController } from './account.ts'
import { bucketController } from './bucket.ts'
import { accessKeyController } from './key.ts'

export type { StorageOptions } from './shared.ts'

/** Reconcile accounts, buckets and keys: docs/areas/objectstorage.md. */
export const STORAGE_CONTROLLERS = [accountController, bucketController, accessKeyController]
