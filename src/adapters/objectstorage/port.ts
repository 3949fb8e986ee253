import type { AccessKeyPair, BucketSettings, StoreFeatures, StoreGrant } from '../../contracts/objectstorage.ts'
import { CodedError } from '../../core/failure.ts'

/** What a store is and can do; it does not change while the process runs. */
export type StoreInfo = {
  readonly driver: string
  readonly version: string
  /** Where workloads of the platform reach it. */
  readonly endpoint: string
  /** Where everybody does. */
  readonly publicEndpoint: string | undefined
  readonly regionName: string
  readonly forcePathStyle: boolean
  readonly features: StoreFeatures
  readonly limits: Readonly<Record<string, number>>
  /** Whether requests can be looked up. */
  readonly audits: boolean
}

export type BucketUse = { objectCount: number; usedBytes: number }

/**
 * What became of a bucket that is to go: `Emptying` if there was more in it than one call takes away, `Locked` if
 * objects may not be deleted yet, `Stuck` if the store keeps what it was asked to delete, `Unlisted` if it says that there
 * is something in it, or cannot say that there is not, and lists nothing.
 */
export type RemovalState = 'Gone' | 'NotEmpty' | 'Unlisted' | 'Emptying' | 'Locked' | 'Stuck'

/** With `empty` what is in a bucket goes too. Objects may be locked in one that was made with `objectLock`. */
export type Removal = { readonly empty: boolean; readonly owner: string; readonly objectLock: boolean }

export type KeyRequest = {
  /** The user at the store that the key is of, and nothing else. */
  readonly user: string
  readonly isActive: boolean
  readonly grants: readonly StoreGrant[]
  /** Every bucket in which the user may have a grant from before. */
  readonly among: readonly string[]
  /** The pair that is stored. Another key of the user is one whose secret was lost, and is removed. */
  readonly known: AccessKeyPair | undefined
  /**
   * Called with a new pair before anything is granted to it. A pair that could not be kept is useless: the next call
   * removes it and makes another.
   */
  readonly keep: (pair: AccessKeyPair) => Promise<void>
}

/** One request that the store answered or refused. */
export type AuditRecord = {
  id: string
  timestamp: string
  /** As S3 calls it: GetObject. */
  operation: string
  bucket: string
  key: string | undefined
  statusCode: number
  errorCode: string | undefined
  accessKeyId: string | undefined
  /** The user at the store, where it says it. */
  user: string | undefined
  remoteAddress: string
  bytes: number | undefined
  requestId: string
}

export type StoreCall = { readonly signal?: AbortSignal | undefined }

/**
 * An S3 store with users of its own. Every call may be repeated: each takes the store from whatever it finds to what is
 * asked for, so that a process may die between any two requests.
 *
 * @throws StoreError
 */
export interface ObjectStore {
  readonly info: StoreInfo
  /**
   * @returns what the bucket then has: versioning that was on once is suspended where it is to be off
   * @throws StoreError Taken where a bucket of that name is not of this owner
   */
  ensureBucket(settings: BucketSettings, options?: StoreCall): Promise<Pick<BucketSettings, 'versioning'>>
  /**
   * Deletes the bucket of the owner, and with `empty` what is in it first. One call takes a bounded number of objects.
   * Another owner's is left alone, and `Gone` for this one.
   */
  removeBucket(name: string, how: Removal, options?: StoreCall): Promise<RemovalState>
  /** Whether there is neither an object nor a version in it. */
  isEmpty(name: string, options?: StoreCall): Promise<boolean>
  /** Whether an object in it may not be deleted now. */
  holdsLocked(name: string, options?: StoreCall): Promise<boolean>
  /** Versions included. */
  use(name: string, options?: StoreCall): Promise<BucketUse>
  ensureKey(request: KeyRequest, options?: StoreCall): Promise<AccessKeyPair>
  /** First the key, so that it opens nothing from then on; then its grants in `among`, then the user. */
  removeKey(user: string, among: readonly string[], options?: StoreCall): Promise<void>
  /** Users of keys of a platform, other than these, that still have a key: whoever has its secret may use it. */
  otherKeys(users: ReadonlySet<string>, options?: StoreCall): Promise<string[]>
  /** Undefined if it was never used, or the store does not say. */
  lastUsed(accessKeyId: string, options?: StoreCall): Promise<string | undefined>
  /** The newest requests to these buckets, newest first, at most `limit`; without those of the platform itself. */
  audit(buckets: ReadonlySet<string>, limit: number, options?: StoreCall): Promise<AuditRecord[]>
  close(): Promise<void>
}

/**
 * - `Unreachable`: no answer, or one that says to come again;
 * - `Failed`: the store failed at it, and may do so each time;
 * - `Refused`: the store will not, whatever the number of tries;
 * - `Invalid`: what was asked for is not as the store takes it: a person must change it;
 * - `Full`: the store has no room for it, in a policy or at all;
 * - `NotFound`: no such bucket or user;
 * - `Taken`: the bucket is somebody else's.
 */
export type StoreErrorCode = 'Unreachable' | 'Failed' | 'Refused' | 'Invalid' | 'Full' | 'NotFound' | 'Taken'

/** A failed call. The message names what was asked; never a body of the store, nor a secret. */
export class StoreError extends CodedError<StoreErrorCode> {}

export function isStoreError(error: unknown, ...codes: readonly StoreErrorCode[]): error is StoreError {
  return error instanceof StoreError && (codes.length === 0 || codes.includes(error.code))
}
