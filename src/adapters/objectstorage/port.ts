import type { AccessKeyPair, BucketSettings, StoreFeatures, StoreGrant } from '../../contracts/objectstorage.ts'
import { failureGuard, ReasonedError } from '../../core/failure.ts'

/** Identity and capabilities of a store; constant while the process runs. */
export type StoreInfo = {
  readonly driver: string
  readonly version: string
  /** Address for workloads of the platform. */
  readonly endpoint: string
  /** Address for the public. */
  readonly publicEndpoint: string | undefined
  readonly regionName: string
  readonly forcePathStyle: boolean
  readonly features: StoreFeatures
  readonly limits: Readonly<Record<string, number>>
  /** Whether the store has an access log. */
  readonly audits: boolean
}

export type BucketUse = { objectCount: number; usedBytes: number }

/**
 * Result of removing a bucket. `Emptying`: more objects than one call deletes. `Locked`: objects may not be deleted
 * yet. `Stuck`: the store keeps what it was asked to delete. `Unlisted`: the store reports that the bucket is not
 * empty, or may not be, but lists nothing.
 */
export type RemovalState = 'Gone' | 'NotEmpty' | 'Unlisted' | 'Emptying' | 'Locked' | 'Stuck'

/** `empty` deletes the contents too. With `objectLock`, objects in the bucket may be locked. */
export type Removal = { readonly empty: boolean; readonly owner: string; readonly objectLock: boolean }

export type KeyRequest = {
  /** The user at the store, which exists only for this key. */
  readonly user: string
  readonly isActive: boolean
  readonly grants: readonly StoreGrant[]
  /** All buckets in which the user may still have a grant. */
  readonly among: readonly string[]
  /** The stored pair. Any other key of the user is deleted, because its secret was lost. */
  readonly known: AccessKeyPair | undefined
  /**
   * Stores a new pair, before anything is granted to it. If this fails, the next call deletes the key and creates
   * another.
   */
  readonly keep: (pair: AccessKeyPair) => Promise<void>
}

/** One request to the store, successful or refused. */
export type AuditRecord = {
  id: string
  timestamp: string
  /** The S3 operation, such as GetObject. */
  operation: string
  bucket: string
  key: string | undefined
  statusCode: number
  errorCode: string | undefined
  accessKeyId: string | undefined
  /** The user at the store, if the log names one. */
  user: string | undefined
  remoteAddress: string
  bytes: number | undefined
  requestId: string
}

export type StoreCall = { readonly signal?: AbortSignal | undefined }

/**
 * An S3 store with its own users. Calls are idempotent: each converges from any state, so that a process may die
 * between any two requests.
 *
 * @throws StoreError
 */
export interface ObjectStore {
  readonly info: StoreInfo
  /**
   * @returns the resulting versioning, which is `Suspended` instead of `Off` if it was ever enabled
   * @throws StoreError Taken if the bucket belongs to another owner
   */
  ensureBucket(settings: BucketSettings): Promise<Pick<BucketSettings, 'versioning'>>
  /**
   * Deletes the owner's bucket, with `empty` its contents first. One call deletes a bounded number of objects. Another
   * owner's bucket is left alone: the result is `Gone`.
   */
  removeBucket(name: string, how: Removal): Promise<RemovalState>
  /** Whether the bucket holds neither objects nor versions. */
  isEmpty(name: string, options?: StoreCall): Promise<boolean>
  /** Whether a lock forbids deleting some object now. */
  holdsLocked(name: string, options?: StoreCall): Promise<boolean>
  /** Counts all versions. */
  use(name: string, options?: StoreCall): Promise<BucketUse>
  ensureKey(request: KeyRequest): Promise<AccessKeyPair>
  /** Deletes the key first, so that access ends at once, then its grants in `among`, then the user. */
  removeKey(user: string, among: readonly string[]): Promise<void>
  /** Lists users of platform keys, beyond the given ones, that still have a key: its secret may still be in use. */
  otherKeys(users: ReadonlySet<string>): Promise<string[]>
  /** Returns undefined if the key was never used, or the store does not record it. */
  lastUsed(accessKeyId: string): Promise<string | undefined>
  /** Returns the newest requests to these buckets, newest first, at most `limit`, without the platform's own. */
  audit(buckets: ReadonlySet<string>, limit: number, options?: StoreCall): Promise<AuditRecord[]>
  close(): Promise<void>
}

/**
 * - `Unreachable`: no answer, or one that asks to retry later;
 * - `Failed`: an internal error of the store, which may happen every time;
 * - `Refused`: a retry will not help;
 * - `Invalid`: the store does not accept the request: a person must change it;
 * - `Full`: no room, in a policy or in the store;
 * - `NotFound`: no such bucket or user;
 * - `Taken`: the bucket belongs to somebody else.
 */
export type StoreErrorReason = 'Unreachable' | 'Failed' | 'Refused' | 'Invalid' | 'Full' | 'NotFound' | 'Taken'

/** A failed call. The message names what was attempted, without any text of the store and without secrets. */
export class StoreError extends ReasonedError<StoreErrorReason> {}
export const isStoreError = failureGuard(StoreError)
