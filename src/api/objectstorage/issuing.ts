import { type AccessKeyPair, accessKeySecretName, decodeAccessKey } from '../../contracts/objectstorage.ts'
import { summarize } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import type { Context } from '../http/context.ts'
import { untilChanged } from '../resources/untilChanged.ts'
import type { KeyObject } from './record.ts'
import { storeOf } from './store.ts'

/** The controller makes keys within moments; a request waits so long, because the answer is the only one with the secret. */
const WAIT_MILLISECONDS = 10_000

/**
 * Makes the object of a key and waits until the key opens what it should. A key whose secret could not be shown is
 * taken back: nobody could ever use it.
 *
 * @throws PlatformError ENGINE_MISSING, SERVICE_UNAVAILABLE, QUOTA_EXCEEDED, INVALID_STATE
 */
export async function issueKey(
  context: Context,
  request: { namespace: string; name: string; spec: object },
): Promise<{ object: KeyObject; pair: AccessKeyPair }> {
  const { records } = context.services
  storeOf(context.services)
  const { namespace, name, spec } = request
  const { caller } = context
  const { object: made } = await records.create(ObjectAccessKey, { namespace, name, spec, caller })
  let object = made
  const ref = { namespace, name }
  await untilChanged(
    context,
    async () => {
      object = records.peek(ObjectAccessKey, ref) ?? object
      const { status, phase } = summarize(object.status, false)
      return status === 'Running' || status === 'Failed' || phase === 'QuotaExceeded'
    },
    WAIT_MILLISECONDS,
  )
  const pair = summarize(object.status, false).status === 'Running' ? await pairOf(context, object) : undefined
  if (pair !== undefined) return { object, pair }
  await records.remove(ObjectAccessKey, ref, { caller })
  throw notIssued(object)
}

async function pairOf({ services }: Context, { metadata }: KeyObject): Promise<AccessKeyPair | undefined> {
  const { namespace = '', name } = metadata
  return decodeAccessKey(await services.objectStorage.secrets.read(namespace, accessKeySecretName(name)))
}

function notIssued(object: KeyObject): PlatformError {
  const { phase, statusMessage } = summarize(object.status, false)
  if (phase === 'QuotaExceeded')
    return new PlatformError('QUOTA_EXCEEDED', statusMessage ?? 'No more keys may be made.')
  if (phase === 'ReferenceMissing') {
    return new PlatformError('INVALID_STATE', statusMessage ?? 'The account is not ready.', { phase })
  }
  const message = 'The key could not be made in time and was taken back: try again.'
  return new PlatformError('SERVICE_UNAVAILABLE', message, { phase })
}
