import { setTimeout as sleep } from 'node:timers/promises'
import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import { withLocalChangeLock } from '../../api/rules/changeLocks.ts'
import { PlatformError } from '../../core/errors.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import type { Change } from './change.ts'

/**
 * Milliseconds for which other reviews wait for an admitted write that does not become visible, because another webhook
 * is slow or refused it, which nobody reports. The API server calls all webhooks at once with a timeout of at most 30
 * seconds; the rest is for storing the write.
 */
export const VISIBILITY_TIMEOUT_MS = 35_000
/** Milliseconds of a turn, beyond that, for the decision. */
const DECISION_TIMEOUT_MS = 10_000
const POLL_MS = { first: 5, most: 250 }

/**
 * Returns whether the change could leave nobody in charge. A no-op (a repeated GitOps apply, a second deletion) could
 * not, and must not wait: the API server stores nothing, so the change would never become visible.
 */
function mayRemoveAccess({ kind, operation, next, previous }: Change): boolean {
  if (previous?.metadata.deletionTimestamp !== undefined) return false
  if (operation === 'UPDATE' && isEqual(next?.spec, previous?.spec)) return false
  if (kind === DenyAssignment) return operation !== 'DELETE'
  return (kind === RoleAssignment || kind === PrincipalGroup) && operation !== 'CREATE'
}

export type Review = {
  /** The key of the turn, shared with changes by REST. */
  readonly key: string
  readonly change: Change
  readonly isDryRun: boolean
  /** Milliseconds that the review may wait for its turn. */
  readonly timeout: number
  /** Milliseconds for which other reviews wait until the write is visible. */
  readonly visibilityTimeout: number
}

/**
 * Judges changes of one key one at a time. A removal keeps its turn, across all replicas, until the API server shows
 * it: otherwise the next review would still count the record that is being deleted, and two removals could delete the
 * last two Owners.
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE if others keep the turn; what `judge` throws
 */
export function judgeWithLock(services: Services, review: Review, judge: () => Promise<void>): Promise<void> {
  const { key, change, isDryRun, timeout, visibilityTimeout } = review
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let isLate = false
  const timer = services.clock.setTimeout(() => {
    isLate = true
    reject(busy())
  }, timeout)
  const judgeInTime = async () => {
    // The caller has already been answered.
    if (isLate) return
    timer.cancel()
    await judge()
    resolve()
    if (keepsTurn) await waitUntilVisible(services, change, visibilityTimeout)
  }
  const keepsTurn = !isDryRun && mayRemoveAccess(change)
  const inTurn = keepsTurn
    ? () =>
        services.records.exclusively(key, judgeInTime, {
          timeout,
          duration: DECISION_TIMEOUT_MS + visibilityTimeout,
        })
    : judgeInTime
  withLocalChangeLock(key, inTurn)
    .catch(reject)
    .finally(() => timer.cancel())
  return promise
}

function busy(): PlatformError {
  const message = 'Other changes of access control are being judged: try again in a moment.'
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 1 })
}

async function waitUntilVisible(
  { records }: Services,
  { kind, namespace, next, previous }: Change,
  timeout: number,
): Promise<void> {
  const name = (next ?? previous)?.metadata.name ?? ''
  const version = previous?.metadata.resourceVersion
  const deadline = performance.now() + timeout
  for (let pause = POLL_MS.first; performance.now() < deadline; pause = Math.min(2 * pause, POLL_MS.most)) {
    const ref = { ...(namespace !== undefined && { namespace }), name }
    const stored = await records.get(kind, ref, { fresh: true }).catch(() => previous)
    if (stored?.metadata.resourceVersion !== version) return
    await sleep(pause)
  }
}
