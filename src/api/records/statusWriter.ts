import { pauseAfterConflict } from '../../core/conflictBackoff.ts'
import { PlatformError } from '../../core/errors.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

const ATTEMPTS_MAX = 10

type Ref = { namespace: string; name: string }
type Decision<Answer> = { readonly answer: Answer; readonly status?: object | undefined }

/**
 * Writes the status of objects with optimistic locking, so that no write of another replica is lost. Writes of this
 * process to one object take turns, so that only other writers cause conflicts.
 *
 * @param refusals the error for an object that is gone, and the sentence for one with too many writers at once
 */
export function createStatusWriter<Stored extends KubeObject>(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  resource: Resource,
  refusals: { gone: (ref: Ref) => Error; busy: string },
) {
  const turns = new KeyedMutex()
  async function write<Answer>(ref: Ref, decide: (stored: Stored) => Decision<Answer>): Promise<Answer> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      if (attempt > 1) await pauseAfterConflict(attempt - 1)
      try {
        const stored = await client.get<Stored>(resource, ref)
        const { answer, status } = decide(stored)
        const { uid, resourceVersion } = stored.metadata
        const options = { subresource: 'status', uid, resourceVersion } as const
        if (status !== undefined) await client.mergePatch(resource, ref, { status }, options)
        return answer
      } catch (error) {
        if (isKubeError(error, 'NotFound')) throw refusals.gone(ref)
        if (!isKubeError(error, 'Conflict')) throw error
      }
    }
    throw new PlatformError('SERVICE_UNAVAILABLE', refusals.busy, { retryAfterSeconds: 5 })
  }
  /** @param decide returns the answer, and the status to write unless it is right already */
  return <Answer>(ref: Ref, decide: (stored: Stored) => Decision<Answer>): Promise<Answer> =>
    turns.take(`${ref.namespace}/${ref.name}`, () => write(ref, decide))
}
