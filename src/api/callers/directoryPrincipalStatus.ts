import type { UserDirectory, UserRecord } from '../../adapters/identity/port.ts'
import type { Clock } from '../../core/clock.ts'
import { KeyedSemaphore } from '../../core/keyedSemaphore.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { isUuid } from '../../core/names.ts'
import { pauseFor } from '../../core/pause.ts'
import type { InactiveReason, PrincipalStatus } from './principalStatus.ts'

/** Milliseconds for which an answer of the identity provider is cached. */
const STATUS_TTL_MS = 60_000
/** Milliseconds until it is asked again if it did not answer. */
const FAILURE_TTL_MS = 10_000
/** Milliseconds that a caller waits for the answer: an API server that asks for kubectl gives up after a second. */
const ANSWER_TIMEOUT_MS = 300
const CACHED_MAX = 10_000
/** Concurrent calls. */
const CONCURRENCY_MAX = 10

type CachedStatus = { readonly ended: InactiveReason | undefined; readonly isFound: boolean; readonly until: number }

/**
 * Standing if the identity provider stores the people itself. It is asked about each caller once a minute. If it does
 * not answer, its last answer counts; if it has never answered about a caller, the token decides.
 */
export function directoryPrincipalStatus({
  users,
  clock,
}: {
  users: Pick<UserDirectory, 'find'>
  clock: Clock
}): PrincipalStatus {
  const known = createLruCache<string, CachedStatus>(CACHED_MAX)
  const asking = new Map<string, Promise<void>>()
  const places = new KeyedSemaphore(CONCURRENCY_MAX)

  async function ask(id: string, isPerson: boolean): Promise<void> {
    const release = await places.take('users')
    const before = known.get(id)
    const until = (kept: number) => clock.monotonic() + kept
    try {
      const user = await users.find(id)
      // A service account that was never found may be one that has no user there.
      const isMissing = user === undefined && (isPerson || before?.isFound === true)
      const ended = isMissing ? 'deleted' : inactiveReasonOf(user)
      known.set(id, { ended, isFound: user !== undefined || before?.isFound === true, until: until(STATUS_TTL_MS) })
    } catch {
      known.set(id, { ended: undefined, isFound: false, ...before, until: until(FAILURE_TTL_MS) })
    } finally {
      release()
      asking.delete(id)
    }
  }
  return {
    async endOf(principalId, type) {
      // Only a uuid may become part of a path.
      if (!isUuid(principalId)) return undefined
      const before = known.get(principalId)
      if (before !== undefined && before.until > clock.monotonic()) return before.ended
      const pending = asking.get(principalId) ?? ask(principalId, type === 'User')
      asking.set(principalId, pending)
      const settled = new AbortController()
      await Promise.race([pending, pauseFor(clock, ANSWER_TIMEOUT_MS, settled.signal)])
      settled.abort()
      return known.get(principalId)?.ended
    },
  }
}

const inactiveReasonOf = (user: UserRecord | undefined) => (user?.isEnabled === false ? 'disabled' : undefined)
