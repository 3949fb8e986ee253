import type { ObjectStore } from '../../adapters/objectstorage/port.ts'
import {
  ACCOUNT_SESSIONS_MAX,
  type AccessKeyPair,
  accessKeySecretName,
  decodeAccessKey,
  isConsumerKey,
  keyState,
  OWNER_KEYS_MAX,
  storeNameOf,
  storeUserName,
} from '../../contracts/objectstorage.ts'
import { createdByOf, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { identityIdOf, ManagedIdentity } from '../../crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { incarnationsNamedBy } from '../../crds/principals.ts'
import { accessKeySecret, isWithinLimit, keyGrants } from '../../desired/objectstorage/index.ts'
import { secret } from '../../kube/builtin.ts'
import { absent } from '../../kube/errors.ts'
import {
  type ControllerDeclaration,
  controllerWith,
  type Observed,
  type Pass,
  steps,
  type Workspace,
} from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { type ClaimObject, holdsName, observedClaims } from '../nameClaims.ts'
import { ignoreMissingRights, withSecretRights } from '../workload/secrets.ts'
import {
  bucketsOf,
  ENGINE_MISSING,
  findAccount,
  keysOfAccount,
  type ObstacleState,
  reportObstacle,
  type StorageOptions,
  withStore,
} from './shared.ts'

type KeyPass = Pass<typeof ObjectAccessKey, ObstacleState>

/** Kinds of principals that request sessions. */
const CALLERS = [PlatformUser.resource, PlatformClient.resource]

/** Milliseconds between two reads of a key's last use; also the longest delay of an expiry check. */
const LAST_USE_INTERVAL_MS = 3_600_000

const RIGHTS: Omit<ControllerDeclaration, 'kind' | 'reads'> = {
  observes: [
    secret,
    {
      resource: ObjectStorageAccount.resource,
      keysOf: keysUnder,
      relevant: ({ metadata, spec }) => [metadata.deletionTimestamp, spec],
    },
    // Ignore usage changes: an account may have a hundred keys, and each would query the store.
    {
      resource: AccountBucket.resource,
      keysOf: keysOfBucket,
      relevant: ({ metadata, spec, status }) => [
        metadata.deletionTimestamp,
        spec,
        (status as AccountBucket['status'])?.storeName,
      ],
    },
    { resource: ManagedIdentity.resource, keysOf: keysOfIdentity },
    { resource: ObjectAccessKey.resource, keysOf: waitingSiblings, wakesOnCreate: false },
    observedClaims(keysOfClaim),
    ...CALLERS.map(
      (resource): Observed => ({
        resource,
        in: 'records',
        keysOf: sessionsOf,
        relevant: ({ metadata: { uid, deletionTimestamp }, spec }) => [uid, deletionTimestamp, isEnabledIn(spec)],
      }),
    ),
  ],
  writes: [{ resource: ObjectAccessKey.resource, verbs: ['delete'] }],
}

/**
 * Keeps one store user with one key for each access key. The store creates the key pair, which is stored in a Secret
 * before anything is granted; a pair whose Secret was lost is replaced.
 */
export const accessKeyController = controllerWith<typeof ObjectAccessKey, StorageOptions, ObstacleState>(
  ObjectAccessKey,
  RIGHTS,
  ({ store }) => {
    return {
      childrenIn: 'records',
      state: () => ({}),
      reconcile: steps(
        endSession,
        followIdentity,
        requireAccount,
        requireBuckets,
        ensureKey,
        lookAtUse,
        reportObstacle,
      ),
      finalize: steps(removeKey, removeSecret),
    }

    async function ensureKey(pass: KeyPass): Promise<Outcome> {
      if (store === undefined) return ENGINE_MISSING
      return withSecretRights(() => withStore(() => ensureAtStore(pass, store)))
    }

    async function lookAtUse(pass: KeyPass): Promise<Outcome> {
      if (store === undefined) return ENGINE_MISSING
      const { accessKeyId, lastUsedAt } = pass.object.status ?? {}
      return withStore(async () => {
        const used = accessKeyId === undefined ? undefined : await store.lastUsed(accessKeyId)
        // Update at most hourly, because each update is a write.
        if (used !== undefined && Date.parse(used) - Date.parse(lastUsedAt ?? '1970-01-01') >= LAST_USE_INTERVAL_MS) {
          pass.report({ lastUsedAt: used })
        }
        return done({ after: nextCheckDelay(pass) })
      })
    }

    async function removeKey(pass: KeyPass): Promise<Outcome> {
      // Without an access key id, nothing was created at the store.
      if (store === undefined) {
        return pass.object.status?.accessKeyId === undefined
          ? done()
          : waiting('TearingDown', 'No object store is configured, so it cannot be deleted.')
      }
      return withStore(async () => {
        await store.removeKey(storeUserName(pass.incarnation), ownBucketNames(pass))
        return done()
      })
    }
  },
)

async function ensureAtStore(pass: KeyPass, store: ObjectStore): Promise<Outcome> {
  const state = keyState(pass.object, pass.clock.now())
  const pair = await store.ensureKey({
    user: storeUserName(pass.incarnation),
    isActive: state === 'Active',
    grants: keyGrants(pass.object, ownBuckets(pass)),
    among: ownBucketNames(pass),
    known: await storedPair(pass),
    keep: async (made) => {
      await pass.children.ensure(accessKeySecret(pass.object, made), { resource: secret })
    },
  })
  // Restores a Secret that somebody changed.
  await pass.children.ensure(accessKeySecret(pass.object, pair), { resource: secret })
  const { name } = pass.object.metadata
  pass.report({ accessKeyId: pair.accessKeyId, secretName: accessKeySecretName(name), state })
  pass.serving(state === 'Active')
  return state === 'Active' ? done() : done({ reason: 'Stopped', message: sentenceOf(state) })
}

const sentenceOf = (state: 'Inactive' | 'Expired') => (state === 'Inactive' ? 'It is set inactive.' : 'It has expired.')

/** Returns the stored pair. Asks the API server if the cache lacks it, because a lost pair is replaced. */
async function storedPair(pass: KeyPass): Promise<AccessKeyPair | undefined> {
  const { namespace, name } = pass.object.metadata
  const ref = { namespace, name: accessKeySecretName(name) }
  const known = await pass.children.get<SecretObject>(secret, namespace, ref.name)
  const found = known ?? (await pass.records.client.get<SecretObject>(secret, ref).catch(absent))
  return decodeAccessKey(found?.data)
}

/** Returns the account's buckets that hold their name at the store: another account's may have the same name. */
function ownBuckets(pass: KeyPass): AccountBucket[] {
  const { accountName } = pass.object.spec
  return bucketsOf(pass.records, pass.object.metadata.namespace, accountName).filter(
    (bucket) =>
      bucket.status?.storeName !== undefined && holdsName(pass.records, bucket, 'StoreBucket', storeNameOf(bucket)),
  )
}

function ownBucketNames(pass: KeyPass): string[] {
  return ownBuckets(pass).map(storeNameOf)
}

function nextCheckDelay(pass: KeyPass): number {
  const { expiresAt } = pass.object.spec
  const remainingMs = expiresAt === undefined ? LAST_USE_INTERVAL_MS : Date.parse(expiresAt) - pass.clock.now()
  return remainingMs <= 0 ? LAST_USE_INTERVAL_MS : Math.min(remainingMs, LAST_USE_INTERVAL_MS)
}

/** Deletes a session that has ended, because it cannot be revived. */
async function endSession(pass: KeyPass): Promise<Outcome> {
  if (!pass.object.spec.isSession) return done()
  if (keyState(pass.object, pass.clock.now()) === 'Expired') return removeSelf(pass, 'The session has ended.')
  const { object, records } = pass
  const name = createdByOf(object.metadata)
  if (name === null) return done()
  const known = CALLERS.map((resource) => records.cache(resource).get(SYSTEM_NAMESPACE, name))
  if (!isCallerGone(object, name, known)) return done()
  // Ask the API server: the caches may lack a new principal, and a deleted session does not come back.
  const ref = { namespace: SYSTEM_NAMESPACE, name }
  const now = await Promise.all(CALLERS.map((resource) => records.client.get(resource, ref).catch(absent)))
  return isCallerGone(object, name, now)
    ? removeSelf(pass, 'Who asked for the session was disabled or deleted.')
    : done()
}

/** Whether the caller is gone or disabled. Users of an external identity provider are not known here. */
function isCallerGone(key: ObjectAccessKey, id: string, callers: readonly (KubeObject | undefined)[]): boolean {
  const caller = callers.find((one) => one !== undefined)
  if (caller !== undefined && isEnabledIn(caller.spec) === false) return true
  const { deletionTimestamp, annotations } = caller?.metadata ?? {}
  const ownerIncarnation = incarnationsNamedBy(key)[id]
  return (
    deletionTimestamp !== undefined ||
    (ownerIncarnation !== undefined && ownerIncarnation !== annotations?.[INCARNATION_ANNOTATION])
  )
}

const isEnabledIn = (spec: unknown) => (spec as PlatformUser['spec']).isEnabled

async function removeSelf(pass: KeyPass, message: string): Promise<Outcome> {
  const { uid } = pass.object.metadata
  await pass.records.client.remove(ObjectAccessKey.resource, refOf(pass.object as KubeObject), { uid })
  return waiting('TearingDown', message)
}

/** Deletes a key together with its identity. */
async function followIdentity(pass: KeyPass): Promise<Outcome> {
  const { managedIdentityId } = pass.object.spec
  if (managedIdentityId === undefined) return done()
  const { namespace } = pass.object.metadata
  const [found] = related(pass.records.cache(ManagedIdentity), 'identity', namespace, managedIdentityId)
  if (found !== undefined && found.metadata.deletionTimestamp === undefined) return done()
  if (pass.object.status?.accessKeyId !== undefined && (await isIdentityGone(pass, managedIdentityId)))
    return removeSelf(pass, 'Its managed identity is gone.')
  if (found !== undefined) return waiting('TearingDown', `Managed identity "${managedIdentityId}" is being deleted.`)
  return stalled('ReferenceMissing', `There is no managed identity "${managedIdentityId}" in the group.`)
}

/** Asks the API server: the cache may lack a new identity, and a deleted key does not come back. */
async function isIdentityGone({ records, object }: KeyPass, id: string): Promise<boolean> {
  const { namespace } = object.metadata
  const { items } = await records.client.list(ManagedIdentity.resource, { namespace })
  return items.every((one) => one.metadata.deletionTimestamp !== undefined || identityIdOf(one) !== id)
}

function requireAccount(pass: KeyPass): Outcome {
  const { namespace } = pass.object.metadata
  const { accountName, managedIdentityId, isSession } = pass.object.spec
  const found = findAccount(pass.records, namespace, accountName)
  if ('obstacle' in found) {
    if (pass.object.status?.accessKeyId === undefined) return found.obstacle
    pass.state.obstacle = found.obstacle
    return done()
  }
  if (isConsumerKey(pass.object) || pass.object.status?.accessKeyId !== undefined) return done()
  const keys = keysOfAccount(pass.records, namespace, accountName)
  if (isSession) {
    const sessions = keys.filter((key) => key.spec.isSession)
    if (isWithinLimit(pass.object, sessions, ACCOUNT_SESSIONS_MAX)) return done()
    return stalled('QuotaExceeded', `An account has at most ${ACCOUNT_SESSIONS_MAX} sessions at a time.`)
  }
  const siblings = keys.filter(
    (key) => !key.spec.isSession && !isConsumerKey(key) && key.spec.managedIdentityId === managedIdentityId,
  )
  if (isWithinLimit(pass.object, siblings, OWNER_KEYS_MAX)) return done()
  return stalled('QuotaExceeded', `An owner has at most ${OWNER_KEYS_MAX} access keys; delete one that is not needed.`)
}

/** A new key waits for its buckets. An issued key stays when one of its buckets is deleted. */
function requireBuckets(pass: KeyPass): Outcome {
  const { spec, status, metadata } = pass.object
  if (spec.buckets === undefined || status?.accessKeyId !== undefined) return done()
  const present = new Set(
    bucketsOf(pass.records, metadata.namespace, spec.accountName).map((each) => each.spec.bucketName),
  )
  const missing = spec.buckets.find((name) => !present.has(name))
  if (missing === undefined) return done()
  return stalled('ReferenceMissing', `Account "${spec.accountName}" has no bucket "${missing}".`)
}

async function removeSecret(pass: KeyPass): Promise<Outcome> {
  const { namespace, name } = pass.object.metadata
  await ignoreMissingRights(() => pass.children.remove(secret, namespace, accessKeySecretName(name)))
  return done()
}

const allKeys = (records: Workspace) => records.cache(ObjectAccessKey)
const keys = (objects: readonly KubeObject[]) => objects.map(keyOf)

function keysUnder({ metadata }: KubeObject, records: Workspace): string[] {
  return keys(keysOfAccount(records, metadata.namespace, metadata.name))
}

function keysOfBucket({ metadata, spec }: KubeObject, records: Workspace): string[] {
  const { accountName = '' } = spec as { accountName?: string }
  return keys(keysOfAccount(records, metadata.namespace, accountName))
}

function keysOfIdentity(identity: KubeObject, records: Workspace): string[] {
  const { namespace } = identity.metadata
  const id = identityIdOf(identity)
  return keys(related(allKeys(records), 'identity', namespace, id))
}

function sessionsOf({ metadata }: KubeObject, records: Workspace): string[] {
  return keys(related(allKeys(records), 'session', metadata.name))
}

function waitingSiblings({ metadata }: KubeObject, records: Workspace): string[] {
  const { namespace } = metadata
  return keys(
    allKeys(records)
      .byIndex(PHASE_INDEX, 'QuotaExceeded')
      .filter((key) => key.metadata.namespace === namespace),
  )
}

/** Returns the keys of an account that just got its name. */
function keysOfClaim({ spec: { type, value, holder } }: ClaimObject, records: Workspace): string[] {
  return type === 'StorageAccount' ? keys(keysOfAccount(records, holder.namespace, value)) : []
}
