import { isStoreError, type ObjectStore } from '../../adapters/objectstorage/port.ts'
import type { StoreFeature } from '../../contracts/objectstorage.ts'
import { PlatformError } from '../../core/errors.ts'
import type { Services } from '../http/context.ts'
import type { SecretReader } from '../records/secrets.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly objectStorage: {
      /** Undefined if none is configured. */
      readonly store: ObjectStore | undefined
      readonly secrets: SecretReader
    }
  }
}

/** @throws PlatformError ENGINE_MISSING */
export function storeOf({ objectStorage }: Services): ObjectStore {
  if (objectStorage.store !== undefined) return objectStorage.store
  throw new PlatformError('ENGINE_MISSING', 'No object store is configured on this platform.', {
    engine: 'object store',
  })
}

/** Translates errors of the store. @throws PlatformError SERVICE_UNAVAILABLE, UPSTREAM_FAILED */
export async function translateStoreErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isStoreError(error)) throw error
    if (isStoreError(error, 'Unreachable', 'Failed')) {
      throw new PlatformError(
        'SERVICE_UNAVAILABLE',
        'The object store does not answer; try again.',
        {},
        { cause: error },
      )
    }
    throw new PlatformError('UPSTREAM_FAILED', 'The object store refused the request.', {}, { cause: error })
  }
}

/** @throws PlatformError FEATURE_UNSUPPORTED */
export function requireStoreFeature(missing: { field: string; feature: StoreFeature | 'audit' } | undefined): void {
  if (missing === undefined) return
  const { field, feature } = missing
  const message = `${field} needs "${feature}", which this platform's object store does not have.`
  throw new PlatformError('FEATURE_UNSUPPORTED', message, { feature, field })
}
