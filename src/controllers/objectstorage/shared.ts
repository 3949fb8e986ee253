import { isStoreError, type ObjectStore } from '../../adapters/objectstorage/port.ts'
import type { SeaweedPlace, Unsupported } from '../../contracts/objectstorage.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Place, Workspace } from '../engine/controller.ts'
import { holdsName } from '../nameClaims.ts'
import { namespaceIsGoing } from '../workload/pass.ts'

export type StorageOptions = {
  /** Undefined if none is configured. */
  store: ObjectStore | undefined
  /** Milliseconds between two looks at the use of a bucket. */
  usageInterval: number
  /** The Seaweed object of the operator that provides the store; undefined if the store runs elsewhere. */
  seaweed?: SeaweedPlace | undefined
}

type Cached<T> = T & KubeObject

/** Milliseconds until a store that did not answer is asked again. */
const STORE_RETRY = 5_000
/** And one that refuses the platform: an administrator of the store must do something first. */
const REFUSED_RETRY = 30_000
/** And one that failed, as it may each time: whoever writes objects can bring it there. */
const FAILED_RETRY = 60_000

export const ENGINE_MISSING: Outcome = stalled(
  'EngineMissing',
  'No object store is configured: set objectStoreDriver, objectStoreEndpoint and its credentials.',
)

/** Runs what talks to the store; one that is away is waited for, as watches cannot tell of its return. */
export async function withStore(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (isStoreError(error, 'Unreachable')) return waiting('WaitingForDependency', error.message, STORE_RETRY)
    if (isStoreError(error, 'Taken')) return stalled('NameOccupied', error.message)
    if (isStoreError(error, 'Invalid')) return stalled('ConfigurationInvalid', error.message)
    if (isStoreError(error, 'Full')) return stalled('QuotaExceeded', error.message)
    if (isStoreError(error, 'Failed')) return waiting('WaitingForDependency', error.message, FAILED_RETRY)
    if (isStoreError(error, 'Refused')) return waiting('WaitingForDependency', error.message, REFUSED_RETRY)
    throw error
  }
}

export function unsupported({ field, feature }: Unsupported): Outcome {
  return stalled(
    'ConfigurationInvalid',
    `${field} needs "${feature}", which this platform's object store does not have.`,
  )
}

export function bucketsOf(records: Workspace, namespace: string | undefined, account: string) {
  const all = records.cache(AccountBucket).list({ namespace })
  return all.filter(({ spec }) => spec.accountName === account)
}

export function keysOfAccount(records: Workspace, namespace: string | undefined, account: string) {
  const all = records.cache(ObjectAccessKey).list({ namespace })
  return all.filter(({ spec }) => spec.accountName === account)
}

type FoundAccount =
  | { account: Cached<ObjectStorageAccount> }
  | { account?: Cached<ObjectStorageAccount>; obstacle: Outcome }

/** The account that a bucket or key hangs on, once its name is its own; else why it has to wait. */
export function findAccount(records: Workspace, namespace: string | undefined, name: string): FoundAccount {
  const account = records.cache(ObjectStorageAccount).get(namespace, name)
  if (account === undefined) {
    const message = `There is no object storage account "${name}" in the group. Create it, or delete this.`
    return { obstacle: stalled('ReferenceMissing', message) }
  }
  if (account.metadata.deletionTimestamp !== undefined) {
    // Its keys go with it; buckets hold it, or go with the group. Nobody has to mend anything here.
    return { account, obstacle: waiting('TearingDown', `The object storage account "${name}" is being deleted.`) }
  }
  if (!holdsName(records, account, 'StorageAccount', name)) {
    return { account, obstacle: waiting('WaitingForDependency', `The object storage account "${name}" is not ready.`) }
  }
  return { account }
}

/** The key of the account that a bucket or key names. */
export function accountKeyOf(object: KubeObject): string[] {
  const { accountName } = object.spec as { accountName?: string }
  return accountName === undefined ? [] : [objectKey(object.metadata.namespace, accountName)]
}

/** Whether the whole group goes, which its own deletion was accepted for. */
export function groupIsGoing(
  records: Workspace,
  { boundaryId, resourceGroup }: Place,
  namespace: string | undefined,
): boolean {
  if (namespaceIsGoing(records, namespace ?? '')) return true
  if (boundaryId === undefined || resourceGroup === undefined) return false
  const group = records.cache(ResourceGroup).get(boundaryNamespace(boundaryId), resourceGroup)
  return group === undefined || group.metadata.deletionTimestamp !== undefined
}

/** What was made still expires, is set inactive, or is closed to the public. */
export type Obstructed = {
  /** Why nothing new could be made now; told in the end. */
  obstacle: Outcome | undefined
}

export function tellObstacle({ state: { obstacle } }: { readonly state: Obstructed }): Outcome {
  return obstacle ?? done()
}
