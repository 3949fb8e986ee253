import { type AccessKeyPair, accessKeySecretName, decodeAccessKey } from '../../contracts/objectstorage.ts'
import { summarize } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import type { Context } from '../http/context.ts'
import { invalidState } from '../resources/invalidState.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { type AccountObject, bucketsOf, type KeyObject } from './record.ts'
import { storeOf } from './store.ts'

/** How long a request waits for the controller to create the key: only this response can contain the secret. */
const KEY_TIMEOUT_MS = 10_000
const RETRY_SECONDS = 5

/** @throws PlatformError REFERENCE_NOT_FOUND for buckets that the account does not have */
export function refuseUnknownBuckets(
  { services }: Pick<Context, 'services'>,
  { metadata: { namespace, name } }: AccountObject,
  { field, buckets }: { field: string; buckets: readonly string[] },
): void {
  const present = new Set(bucketsOf(services, namespace, name).map(({ spec }) => spec.bucketName))
  const value = buckets.find((bucket) => !present.has(bucket))
  if (value === undefined) return
  throw new PlatformError('REFERENCE_NOT_FOUND', `Account "${name}" has no bucket "${value}".`, { field, value })
}

/**
 * Creates the object of a key and waits until the key works. A key whose secret could not be returned is deleted,
 * because nobody could ever use it.
 * @throws PlatformError ENGINE_MISSING, SERVICE_UNAVAILABLE, QUOTA_EXCEEDED, INVALID_STATE
 */
export async function issueKey(
  context: Context,
  request: {
    namespace: string
    name: string
    spec: object
    annotations?: Record<string, string>
    /** The owner against whose limit the key counts. */
    owner: string
    /** Called in the owner's turn, so never concurrently. @throws PlatformError QUOTA_EXCEEDED */
    refuseOneMore: () => void
  },
): Promise<{ object: KeyObject; pair: AccessKeyPair }> {
  const { records } = context.services
  storeOf(context.services)
  const { namespace, name, spec, annotations, owner, refuseOneMore } = request
  const { caller } = context
  const lock = { key: `keys of ${namespace}/${owner}`, sees: [{ kind: ObjectAccessKey, namespace }] }
  let { object } = await withChangeLock(context.services, lock, async () => {
    refuseOneMore()
    return records.create(ObjectAccessKey, { namespace, name, spec, caller, ...(annotations && { annotations }) })
  })
  const ref = { namespace, name }
  await pollUntilChanged(
    context,
    async () => {
      object = records.peek(ObjectAccessKey, ref) ?? object
      const { status, phase } = summarize(object.status, false)
      return status === 'Running' || status === 'Failed' || phase === 'QuotaExceeded'
    },
    KEY_TIMEOUT_MS,
  )
  const takeBack = () => records.remove(ObjectAccessKey, ref, { caller })
  const isMade = summarize(object.status, false).status === 'Running'
  const read = isMade ? pairOf(context, object) : Promise.resolve(undefined)
  const pair = await read.catch(async (error: unknown) => {
    // Report the original error even if the deletion fails too.
    await takeBack().catch(() => undefined)
    throw error
  })
  if (pair !== undefined) return { object, pair }
  await takeBack()
  throw notIssued(object)
}

async function pairOf({ services }: Context, { metadata }: KeyObject): Promise<AccessKeyPair | undefined> {
  const { namespace = '', name } = metadata
  return decodeAccessKey(await services.objectStorage.secrets.read(namespace, accessKeySecretName(name)))
}

function notIssued(object: KeyObject): PlatformError {
  const { status, phase, statusMessage } = summarize(object.status, false)
  const explanation = statusMessage ?? 'The store gave no reason.'
  if (phase === 'QuotaExceeded') return new PlatformError('QUOTA_EXCEEDED', explanation, { quota: 'accessKeys' })
  if (phase === 'ReferenceMissing') return invalidState(object, explanation)
  // Retrying does not help until somebody fixes the cause.
  if (status === 'Failed')
    return new PlatformError('UPSTREAM_FAILED', `The key could not be made: ${explanation}`, { phase })
  const message = `The key was not made within ${KEY_TIMEOUT_MS / 1000} s and was withdrawn: ${explanation} Try again later.`
  return new PlatformError('SERVICE_UNAVAILABLE', message, { phase, retryAfterSeconds: RETRY_SECONDS })
}
