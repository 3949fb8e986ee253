import { setTimeout as sleep } from 'node:timers/promises'
import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import { oneAtATimeHere } from '../../api/rules/turns.ts'
import { PlatformError } from '../../core/errors.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import type { Change } from './change.ts'

/**
 * Milliseconds for which others wait for a write that was admitted, where it does not show: another webhook takes that long, or
 * refused it, which nothing tells. The API server asks all of them at once and gives none more than 30 seconds; the rest is for
 * storing it.
 */
export const SHOWS_WITHIN = 35_000
/** Of a turn, beyond that: for judging. */
const JUDGED_WITHIN = 10_000
const LOOK = { first: 5, most: 250 }

/**
 * Whether it may leave nobody who governs, which is judged by what others leave. What says the same again does not, and is never
 * seen: the API server stores no write that changes nothing, such as an apply of GitOps or a second deletion.
 */
function takesAway({ kind, operation, next, previous }: Change): boolean {
  if (previous?.metadata.deletionTimestamp !== undefined) return false
  if (operation === 'UPDATE' && isEqual(next?.spec, previous?.spec)) return false
  if (kind === DenyAssignment) return operation !== 'DELETE'
  return (kind === RoleAssignment || kind === PrincipalGroup) && operation !== 'CREATE'
}

export type Review = {
  /** The key of the turn, the same as that of changes by REST. */
  readonly key: string
  readonly change: Change
  readonly isDryRun: boolean
  /** Milliseconds for which a review may wait for its turn. */
  readonly patience: number
  /** Milliseconds for which others wait for the write. */
  readonly showsWithin: number
}

/**
 * Judges changes of a key one at a time. What takes away keeps its turn, over all replicas, until the API server shows it: another
 * one that is judged before that would count on what is about to go, and two Owners could be removed at once.
 *
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE if others keep the turn; what `judge` throws
 */
export function judgedInTurn(services: Services, review: Review, judge: () => Promise<void>): Promise<void> {
  const { key, change, isDryRun, patience, showsWithin } = review
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let isLate = false
  const late = services.clock.setTimeout(() => {
    isLate = true
    reject(busy())
  }, patience)
  const judged = async () => {
    // Who asked has been answered.
    if (isLate) return
    late.cancel()
    await judge()
    resolve()
    if (keepsTurn) await untilShown(services, change, showsWithin)
  }
  const keepsTurn = !isDryRun && takesAway(change)
  const inTurn = keepsTurn
    ? () => services.records.exclusively(key, judged, { patience, duration: JUDGED_WITHIN + showsWithin })
    : judged
  oneAtATimeHere(key, inTurn)
    .catch(reject)
    .finally(() => late.cancel())
  return promise
}

function busy(): PlatformError {
  const message = 'Other changes of access control are being judged: try again in a moment.'
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 1 })
}

async function untilShown(
  { records }: Services,
  { kind, namespace, next, previous }: Change,
  within: number,
): Promise<void> {
  const name = (next ?? previous)?.metadata.name ?? ''
  const version = previous?.metadata.resourceVersion
  const giveUp = performance.now() + within
  for (let pause = LOOK.first; performance.now() < giveUp; pause = Math.min(2 * pause, LOOK.most)) {
    const ref = { ...(namespace !== undefined && { namespace }), name }
    const stored = await records.get(kind, ref, { fresh: true }).catch(() => previous)
    if (stored?.metadata.resourceVersion !== version) return
    await sleep(pause)
  }
}
