import { isStoreError, type ObjectStore } from '../../adapters/objectstorage/port.ts'
import type { SeaweedRef, UnsupportedField } from '../../contracts/objectstorage.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { ObjectScope, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { holdsName } from '../nameClaims.ts'
import { isNamespaceTerminating } from '../workload/pass.ts'

export type StorageOptions = {
  /** Undefined if not configured. */
  store: ObjectStore | undefined
  /** Milliseconds between two reads of a bucket's usage. */
  usageInterval: number
  /** The Seaweed that provides the store; undefined if the store is run elsewhere. */
  seaweed?: SeaweedRef | undefined
}

type Cached<T> = T & KubeObject

/** Milliseconds until an unreachable store is retried. */
const STORE_RETRY_MS = 5_000
/** Milliseconds until a store that refuses the platform is retried: its administrator must act first. */
const REFUSED_RETRY_MS = 30_000
/** Milliseconds until a failed request is retried: it may fail each time, because of what users store. */
const FAILED_RETRY_MS = 60_000

export const ENGINE_MISSING: Outcome = stalled(
  'EngineMissing',
  'No object store is configured: set objectStoreDriver, objectStoreEndpoint and its credentials.',
)

/** Runs a call to the store and maps its errors; retries by timer, because no watch reports that the store is back. */
export async function withStore(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (isStoreError(error, 'Unreachable')) return waiting('WaitingForDependency', error.message, STORE_RETRY_MS)
    if (isStoreError(error, 'Taken')) return stalled('NameOccupied', error.message)
    if (isStoreError(error, 'Invalid')) return stalled('ConfigurationInvalid', error.message)
    if (isStoreError(error, 'Full')) return stalled('QuotaExceeded', error.message)
    if (isStoreError(error, 'Failed')) return waiting('WaitingForDependency', error.message, FAILED_RETRY_MS)
    if (isStoreError(error, 'Refused')) return waiting('WaitingForDependency', error.message, REFUSED_RETRY_MS)
    throw error
  }
}

export function unsupported({ field, feature }: UnsupportedField): Outcome {
  return stalled(
    'ConfigurationInvalid',
    `${field} needs "${feature}", which this platform's object store does not have.`,
  )
}

export function bucketsOf(records: Workspace, namespace: string | undefined, account: string) {
  return [...related(records.cache(AccountBucket), 'parent', namespace, account)]
}

export function keysOfAccount(records: Workspace, namespace: string | undefined, account: string) {
  return [...related(records.cache(ObjectAccessKey), 'parent', namespace, account)]
}

type FoundAccount =
  | { account: Cached<ObjectStorageAccount> }
  | { account?: Cached<ObjectStorageAccount>; obstacle: Outcome }

/** Returns the account of a bucket or key if it holds its name; otherwise why to wait. */
export function findAccount(records: Workspace, namespace: string | undefined, name: string): FoundAccount {
  const account = records.cache(ObjectStorageAccount).get(namespace, name)
  if (account === undefined) {
    const message = `There is no object storage account "${name}" in the group. Create it, or delete this.`
    return { obstacle: stalled('ReferenceMissing', message) }
  }
  if (account.metadata.deletionTimestamp !== undefined) {
    // Keys are deleted with it, and buckets block it or are deleted with the group: nobody must act.
    return { account, obstacle: waiting('TearingDown', `The object storage account "${name}" is being deleted.`) }
  }
  if (!holdsName(records, account, 'StorageAccount', name)) {
    return { account, obstacle: waiting('WaitingForDependency', `The object storage account "${name}" is not ready.`) }
  }
  return { account }
}

/** Returns the key of the account that a bucket or key belongs to. */
export function accountKeyOf(object: KubeObject): string[] {
  const { accountName } = object.spec as { accountName?: string }
  return accountName === undefined ? [] : [objectKey(object.metadata.namespace, accountName)]
}

/** Whether the whole group is being deleted, which its own deletion was accepted for. */
export function isGroupTerminating(
  records: Workspace,
  { boundaryId, resourceGroup }: ObjectScope,
  namespace: string | undefined,
): boolean {
  if (isNamespaceTerminating(records, namespace ?? '')) return true
  if (boundaryId === undefined || resourceGroup === undefined) return false
  const group = records.cache(ResourceGroup).get(boundaryNamespace(boundaryId), resourceGroup)
  return group === undefined || group.metadata.deletionTimestamp !== undefined
}

/** An obstacle to new objects. Existing ones still expire, are deactivated, or are closed to the public. */
export type ObstacleState = {
  /** Why nothing new can be created; reported at the end. */
  obstacle?: Outcome | undefined
}

export function reportObstacle({ state: { obstacle } }: { readonly state: ObstacleState }): Outcome {
  return obstacle ?? done()
}
