import { ACCOUNT_NAME_MIN_LENGTH, type SeaweedRef, unsupportedAccountFields } from '../../contracts/objectstorage.ts'
import { DAY_MS } from '../../core/clock.ts'
import { type KubeObject, keyOf, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { HOLDERS_SHOWN_MAX } from '../../crds/holders.ts'
import { kubectlName } from '../../crds/kubectlName.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { withDailyUsage, withRecordedBuckets } from '../../desired/objectstorage/index.ts'
import { type Seaweed, seaweedObstacle } from '../../desired/objectstorage/seaweed.ts'
import { namespace as namespaces } from '../../kube/builtin.ts'
import { seaweed } from '../../kube/seaweedfs.ts'
import { controllerWith, type Observed, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { acquireNameClaim, CLAIM_RIGHTS, observedClaims, releaseNames } from '../nameClaims.ts'
import { blockForHolders } from '../ownedNamespace.ts'
import { awaitUnseenParts } from '../parts.ts'
import { checkQuotaOnce, quotaObservers, releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import {
  accountKeyOf,
  bucketsOf,
  ENGINE_MISSING,
  isGroupTerminating,
  keysOfAccount,
  type StorageOptions,
  unsupported,
} from './shared.ts'

type AccountPass = Pass<typeof ObjectStorageAccount>

const OBSERVED: readonly Observed[] = [
  { resource: AccountBucket.resource, keysOf: accountKeyOf },
  { resource: ObjectAccessKey.resource, keysOf: accountKeyOf },
  ...quotaObservers(ObjectStorageAccount),
  // Accounts that wait for the name to become free.
  observedClaims(({ spec: { type, value, holder } }, records) => {
    if (type !== 'StorageAccount') return []
    const cache = records.cache(ObjectStorageAccount)
    const waiting = cache.byIndex(PHASE_INDEX, 'NameOccupied').filter(({ metadata }) => metadata.name === value)
    return [objectKey(holder.namespace, holder.name), ...waiting.map(keyOf)]
  }),
]

/** Keeps the platform-wide name of an account, and reports its content. */
export const accountController = controllerWith(
  ObjectStorageAccount,
  {
    observes: [...OBSERVED, ...seaweedObservers({ namespace: '', name: '', port: undefined })],
    reads: [namespaces, ComputePlan.resource],
    writes: [CLAIM_RIGHTS, LEDGER_RIGHTS, { resource: ObjectAccessKey.resource, verbs: ['delete'] }],
  },
  ({ store, seaweed }: StorageOptions) => ({
    observes: [...OBSERVED, ...seaweedObservers(seaweed)],
    childrenIn: 'records',
    reconcile: steps(recordBuckets, requireStore(store, seaweed), checkQuotaOnce, claimName, reportUse),
    finalize: steps(blockWhileHeld, removeKeys, waitForBuckets, awaitUnseenParts, releaseNames, releaseQuota),
  }),
)

function requireStore(store: StorageOptions['store'], seaweed: StorageOptions['seaweed']) {
  return function requireStore(pass: AccountPass): Outcome {
    if (store === undefined) return ENGINE_MISSING
    const obstacle = seaweed === undefined ? undefined : obstacleOf(pass.records, seaweed)
    if (obstacle !== undefined) return obstacle
    const { name } = pass.object.metadata
    if (name.length < ACCOUNT_NAME_MIN_LENGTH) {
      const message = `The name of an account has at least ${ACCOUNT_NAME_MIN_LENGTH} characters; "${name}" has ${name.length}.`
      return stalled('ConfigurationInvalid', message)
    }
    const unsupportedField = unsupportedAccountFields(pass.object.spec, store.info.features)
    if (unsupportedField !== undefined) return unsupported(unsupportedField)
    const { endpoint, publicEndpoint, regionName, forcePathStyle } = store.info
    pass.report({ endpoint, publicEndpoint, regionName, forcePathStyle })
    return done()
  }
}

/** Runs first, because a bucket waits for it before it is deleted. */
function recordBuckets(pass: AccountPass): Outcome {
  const { namespace, name } = pass.object.metadata
  const before = pass.object.status?.bucketNames ?? []
  const recorded = withRecordedBuckets(before, bucketsOf(pass.records, namespace, name), pass.now)
  if (recorded !== before) pass.report({ bucketNames: [...recorded] })
  pass.report({ heldBy: holdersOf(pass).slice(0, HOLDERS_SHOWN_MAX) })
  return done()
}

function holdersOf({ records, object: { metadata } }: AccountPass): string[] {
  const buckets = bucketsOf(records, metadata.namespace, metadata.name)
  return buckets.map((bucket) => kubectlName(AccountBucket, bucket.metadata.name)).sort()
}

/** Blocks deletion before the keys go, unless the group is being deleted: that was accepted with its buckets. */
function blockWhileHeld(pass: AccountPass): Outcome {
  const holders = isGroupTerminating(pass.records, pass.scope, pass.object.metadata.namespace) ? [] : holdersOf(pass)
  pass.report({ heldBy: holders.slice(0, HOLDERS_SHOWN_MAX) })
  return blockForHolders(holders, 'Delete these buckets')
}

async function claimName(pass: AccountPass): Promise<Outcome> {
  const { name } = pass.object.metadata
  if (await acquireNameClaim(pass, 'StorageAccount', name)) return done()
  return stalled('NameOccupied', `The account name "${name}" is taken on this platform; choose another.`)
}

/** Reports the number of buckets, and once a day their total size: each bucket's status has its current size. */
function reportUse(pass: AccountPass): Outcome {
  const { namespace, name } = pass.object.metadata
  const buckets = bucketsOf(pass.records, namespace, name)
  const usedBytes = buckets.reduce((sum, { status }) => sum + (status?.usedBytes ?? 0), 0)
  const before = pass.object.status?.history ?? []
  const history = withDailyUsage(before, pass.now.slice(0, 10), usedBytes)
  pass.report({ bucketCount: buckets.length, ...(history === before ? {} : { history: [...history] }) })
  return done({ after: DAY_MS - (pass.clock.now() % DAY_MS) + 1_000 })
}

/** Deletes the keys first, because they are useless without the account; one by one, to tell the store of each. */
async function removeKeys(pass: AccountPass): Promise<Outcome> {
  const { namespace, name } = pass.object.metadata
  const keys = keysOfAccount(pass.records, namespace, name)
  for (const key of keys) {
    if (key.metadata.deletionTimestamp !== undefined) continue
    await pass.records.client.remove(ObjectAccessKey.resource, refOf(key as KubeObject), { uid: key.metadata.uid })
  }
  return keysOfAccount(pass.records, namespace, name).length === 0
    ? done()
    : waiting('TearingDown', 'Its access keys are being deleted.')
}

function waitForBuckets(pass: AccountPass): Outcome {
  const { namespace, name } = pass.object.metadata
  const remaining = bucketsOf(pass.records, namespace, name).map(({ spec }) => spec.bucketName)
  if (remaining.length === 0) return done()
  const shown = remaining.sort().slice(0, 5).join(', ')
  return waiting('TearingDown', `Delete its buckets first: ${shown}${remaining.length > 5 ? ' ...' : ''}.`)
}

/** Wakes accounts that wait for the store when its Seaweed changes, if one is configured. */
function seaweedObservers(seaweedRef: SeaweedRef | undefined): Observed[] {
  if (seaweedRef === undefined) return []
  return [
    {
      resource: seaweed,
      keysOf: ({ metadata }, records) =>
        metadata.namespace === seaweedRef.namespace && metadata.name === seaweedRef.name
          ? records.cache(ObjectStorageAccount).list().map(keyOf)
          : [],
    },
  ]
}

/** Returns why the Seaweed cannot be used; undefined if it can. */
function obstacleOf(records: Workspace, seaweedRef: SeaweedRef): Outcome | undefined {
  const isServed = records.isServed(seaweed)
  const found = isServed
    ? records.cache<Seaweed & KubeObject>(seaweed).get(seaweedRef.namespace, seaweedRef.name)
    : undefined
  return seaweedObstacle(seaweedRef, found, isServed)
}
