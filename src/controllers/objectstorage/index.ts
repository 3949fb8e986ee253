import type { Controller } from '../engine/controller.ts'
import { accountController } from './account.ts'
import { bucketController } from './bucket.ts'
import { accessKeyController } from './key.ts'
import type { StorageOptions } from './shared.ts'

export type { StorageOptions } from './shared.ts'

/** Keep accounts, buckets and keys as their specs say: docs/areas/objectstorage.md. */
export function storageControllers(options: StorageOptions): readonly Controller[] {
  return [accountController(options), bucketController(options), accessKeyController(options)]
}
