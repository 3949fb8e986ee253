import { isStoreError, type ObjectStore, type RemovalState } from '../../adapters/objectstorage/port.ts'
import { formerStoreBucketName, storeNameOf, unsupportedBucketFields } from '../../contracts/objectstorage.ts'
import { boundaryOfNamespace, groupNamespace } from '../../core/names.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { pluralize } from '../../core/pluralize.ts'
import { AccountBucket, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { bucketSettings, isWithinLimit, restrictToFeatures } from '../../desired/objectstorage/index.ts'
import { type ControllerDeclaration, controllerWith, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import {
  acquireNameClaim,
  CLAIM_RIGHTS,
  type ClaimObject,
  holdsName,
  observedClaims,
  releaseNames,
} from '../nameClaims.ts'
import {
  bucketsOf,
  ENGINE_MISSING,
  findAccount,
  isGroupTerminating,
  type ObstacleState,
  reportObstacle,
  type StorageOptions,
  unsupported,
  withStore,
} from './shared.ts'

type BucketPass = Pass<typeof AccountBucket, BucketState>
type BucketState = ObstacleState & { account?: ObjectStorageAccount | undefined }

/** Milliseconds between two checks of a bucket that is being emptied, or that its owner must empty. */
const EMPTYING_RETRY_MS = 1_000
const BLOCKED_RETRY_MS = 30_000
const MAX_BLOCKED_RETRY_MS = 300_000
const ASK_ADMINISTRATOR = 'An administrator of the store must see why.'
const UNLISTED =
  'The object store says that it is not empty, but cannot list what is in it. Set forceDelete to delete it with that.'

/** Returns the bucket's name at the store. Without a status, as after a restore, the claim reveals a former name. */
function nameOf({ object, records }: BucketPass): string {
  const { accountName, bucketName } = object.spec
  const former = formerStoreBucketName(accountName, bucketName)
  if (object.status?.storeName === undefined && holdsName(records, object, 'StoreBucket', former)) return former
  return storeNameOf(object)
}

const RIGHTS: Omit<ControllerDeclaration, 'kind' | 'reads'> = {
  observes: [
    {
      resource: ObjectStorageAccount.resource,
      keysOf: ({ metadata }, records) => keys(bucketsOf(records, metadata.namespace, metadata.name)),
      relevant: ({ metadata, spec, status }) => [
        metadata.deletionTimestamp,
        spec,
        (status as ObjectStorageAccount['status'])?.bucketNames,
      ],
    },
    { resource: AccountBucket.resource, keysOf: waitingSiblings, wakesOnCreate: false },
    observedClaims(waitingForName),
    { resource: ResourceGroup.resource, keysOf: deletedBucketsOf },
  ],
  writes: [CLAIM_RIGHTS],
}

/** Keeps a bucket at the store as its spec says, and deletes it only if no data is lost against its owner's will. */
export const bucketController = controllerWith<typeof AccountBucket, StorageOptions, BucketState>(
  AccountBucket,
  RIGHTS,
  ({ store, usageInterval }) => {
    return {
      childrenIn: 'records',
      state: () => ({}),
      reconcile: steps(requireAccount, checkWishes, claimName, ensureBucket, reportObstacle, checkPublic, lookAtUse),
      finalize: steps(awaitRecordedName, removeBucket, releaseNames),
    }

    function checkWishes(pass: BucketPass): Outcome {
      if (store === undefined) return ENGINE_MISSING
      const { spec, status } = pass.object
      const unsupportedField = unsupportedBucketFields(spec, store.info.features)
      if (unsupportedField === undefined) return done()
      if (status?.storeName === undefined) return unsupported(unsupportedField)
      pass.state.obstacle ??= unsupported(unsupportedField)
      return done()
    }

    async function ensureBucket(pass: BucketPass): Promise<Outcome> {
      const { account } = pass.state
      if (store === undefined || account === undefined) return ENGINE_MISSING
      return withStore(async () => {
        const settings = bucketSettings(pass.object, account, { name: nameOf(pass), owner: pass.incarnation })
        const { versioning } = await store.ensureBucket(restrictToFeatures(settings, store.info.features))
        pass.report({ storeName: settings.name, versioning })
        pass.serving(true)
        return done()
      })
    }

    /** Reports the usage only if it changed, so that an idle bucket costs the API server nothing. */
    async function lookAtUse(pass: BucketPass): Promise<Outcome> {
      if (store === undefined) return ENGINE_MISSING
      return withStore(async () => {
        const { objectCount, usedBytes } = await store.use(nameOf(pass))
        const known = pass.object.status
        if (known?.objectCount !== objectCount || known.usedBytes !== usedBytes || known.usageAt === undefined) {
          pass.report({ objectCount, usedBytes, usageAt: pass.now })
        }
        return done({ after: usageInterval })
      })
    }

    async function removeBucket(pass: BucketPass): Promise<Outcome> {
      const name = nameOf(pass)
      // A bucket that never got the name has nothing at the store, and must not touch the holder's.
      if (!holdsName(pass.records, pass.object, 'StoreBucket', name)) return done()
      if (store === undefined) return waiting('TearingDown', 'No object store is configured, so it cannot be deleted.')
      return withStore(() => deleteBucket(pass, store, name))
    }
  },
)

/** Waits until the account has recorded the bucket's name; the audit could not look it up otherwise. */
function awaitRecordedName({ object, records }: BucketPass): Outcome {
  const { namespace } = object.metadata
  const storeName = object.status?.storeName
  const found = findAccount(records, namespace, object.spec.accountName)
  if (storeName === undefined || 'obstacle' in found) return done()
  if (
    found.account.status?.bucketNames?.some(
      (recorded) => recorded.storeName === storeName && recorded.until === undefined,
    )
  )
    return done()
  return waiting('TearingDown', 'Its account is recording its name for the audit.')
}

const keys = (objects: readonly KubeObject[]) => objects.map(keyOf)

async function deleteBucket(pass: BucketPass, store: ObjectStore, name: string): Promise<Outcome> {
  const { objectLock, forceDelete } = pass.object.spec
  const empty = forceDelete || isGroupTerminating(pass.records, pass.scope, pass.object.metadata.namespace)
  try {
    return removalOutcome(pass, await store.removeBucket(name, { empty, objectLock, owner: pass.incarnation }))
  } catch (error) {
    if (isStoreError(error, 'Failed')) return blockedOutcome(pass, `${error.message} ${ASK_ADMINISTRATOR}`)
    throw error
  }
}

function removalOutcome(pass: BucketPass, state: RemovalState): Outcome {
  switch (state) {
    case 'Gone':
      return done()
    case 'Emptying':
      return waiting('TearingDown', 'It is being emptied.', EMPTYING_RETRY_MS)
    case 'NotEmpty':
      return blockedOutcome(pass, 'It is not empty: delete its objects, or set forceDelete.')
    case 'Unlisted':
      return blockedOutcome(pass, UNLISTED)
    case 'Stuck':
      return blockedOutcome(pass, `The object store does not delete what is left in it. ${ASK_ADMINISTRATOR}`)
    case 'Locked':
      return blockedOutcome(pass, 'It holds objects that are locked and may not be deleted yet.')
  }
}

/** Retries less often the longer it waits, because the store may never delete it. */
function blockedOutcome({ object, clock }: BucketPass, message: string): Outcome {
  const waitedMs = clock.now() - Date.parse(object.metadata.deletionTimestamp ?? '')
  const after = Math.min(MAX_BLOCKED_RETRY_MS, Math.max(BLOCKED_RETRY_MS, waitedMs / 2))
  return waiting('DeletionBlocked', message, Math.round(after))
}

function requireAccount(pass: BucketPass): Outcome {
  const { namespace } = pass.object.metadata
  const { accountName, bucketName } = pass.object.spec
  const found = findAccount(pass.records, namespace, accountName)
  if ('obstacle' in found) {
    pass.state.account = found.account
    pass.state.obstacle = found.obstacle
    return found.account === undefined || pass.object.status?.storeName === undefined ? found.obstacle : done()
  }
  const siblings = bucketsOf(pass.records, namespace, accountName)
  const { maxBuckets } = found.account.spec
  if (pass.object.status?.storeName === undefined && !isWithinLimit(pass.object, siblings, maxBuckets)) {
    return stalled(
      'QuotaExceeded',
      `Account "${accountName}" may have ${pluralize(maxBuckets, 'bucket')}; "${bucketName}" would be one more.`,
    )
  }
  pass.state.account = found.account
  return done()
}

/** Runs after the bucket was closed: withdrawing the account's permission takes effect at once. */
function checkPublic(pass: BucketPass): Outcome {
  const { spec } = pass.object
  if (!spec.publicRead || pass.state.account?.spec.enablePublicAccess === true) return done()
  const message = `Account "${spec.accountName}" allows no public buckets: set its enablePublicAccess, or publicRead to false.`
  return stalled('ConfigurationInvalid', message)
}

async function claimName(pass: BucketPass): Promise<Outcome> {
  const name = nameOf(pass)
  if (await acquireNameClaim(pass, 'StoreBucket', name)) return done()
  return stalled('NameOccupied', `The name "${name}" is taken at the object store; choose another bucketName.`)
}

/** Returns buckets that had no room, when another one is deleted. */
function waitingSiblings({ metadata, spec }: KubeObject, records: Workspace): string[] {
  const { accountName = '' } = spec as { accountName?: string }
  const siblings = bucketsOf(records, metadata.namespace, accountName)
  return keys(siblings.filter(({ status }) => status?.phase === 'QuotaExceeded'))
}

/** Returns the holder of a name, the buckets that wait for it, and those of an account that just got its name. */
function waitingForName({ spec: { type, value, holder } }: ClaimObject, records: Workspace): string[] {
  if (type === 'StorageAccount') return keys(bucketsOf(records, holder.namespace, value))
  if (type !== 'StoreBucket') return []
  const cache = records.cache(AccountBucket)
  const waiting = cache.byIndex(PHASE_INDEX, 'NameOccupied').filter((bucket) => storeNameOf(bucket) === value)
  return [objectKey(holder.namespace, holder.name), ...keys(waiting)]
}

/** Returns buckets that wait to be emptied, when their group is being deleted. */
function deletedBucketsOf(group: KubeObject, records: Workspace): string[] {
  if (group.metadata.deletionTimestamp === undefined) return []
  const boundaryId = boundaryOfNamespace(group.metadata.namespace ?? '')
  if (boundaryId === undefined) return []
  const namespace = groupNamespace(boundaryId, group.metadata.name)
  const all = records.cache(AccountBucket).list({ namespace })
  return keys(all.filter(({ metadata }) => metadata.deletionTimestamp !== undefined))
}
