import type { UserDirectory, UserRecord } from '../../adapters/identity/port.ts'
import { type Clock, timestamp } from '../../core/clock.ts'
import { KeyedSemaphore } from '../../core/keyedSemaphore.ts'
import { isUuid } from '../../core/names.ts'
import { displayNameOf } from '../people/accounts.ts'
import type { Principal, Principals } from './principals.ts'

/** Milliseconds for which an answer of the identity provider is cached: lists name the same people repeatedly. */
const PRINCIPAL_TTL_MS = 10_000
const CACHED_MAX = 10_000
/** Concurrent calls: lists of grants may name thousands of people. */
const CONCURRENCY_MAX = 10
/** Keycloak keeps a user for each service account. */
const SERVICE_ACCOUNT_PREFIX = 'service-account-'

/** Principals if the identity provider stores the people itself; groups and all that has a record come from records. */
export function directoryPrincipals(
  recorded: Principals,
  users: Pick<UserDirectory, 'find'>,
  clock: Clock,
): Principals {
  const kept = new Map<string, { user: UserRecord | undefined; until: number }>()
  const asking = new Map<string, Promise<UserRecord | undefined>>()
  const places = new KeyedSemaphore(CONCURRENCY_MAX)
  async function findUser(id: string): Promise<UserRecord | undefined> {
    const before = kept.get(id)
    if (before !== undefined && before.until > clock.monotonic()) return before.user
    const pending = asking.get(id) ?? ask(id).finally(() => asking.delete(id))
    asking.set(id, pending)
    return pending
  }
  async function ask(id: string): Promise<UserRecord | undefined> {
    const release = await places.take('users')
    try {
      const user = await users.find(id)
      if (kept.size >= CACHED_MAX) kept.clear()
      kept.set(id, { user, until: clock.monotonic() + PRINCIPAL_TTL_MS })
      return user
    } finally {
      release()
    }
  }
  return {
    async find(ids, boundaryId) {
      const wanted = [...new Set(ids)]
      const found = new Map(await recorded.find(wanted, boundaryId))
      const others = wanted.filter((id) => !found.has(id) && isUuid(id))
      for (const user of await Promise.all(others.map(findUser))) {
        if (user !== undefined) found.set(user.id, principalOf(user))
      }
      return found
    },
  }
}

function principalOf(user: UserRecord): Principal {
  const { id, userName, email, isEnabled, lastSignInAt, tenantIds } = user
  return {
    id,
    principalType: userName.startsWith(SERVICE_ACCOUNT_PREFIX) ? 'ServicePrincipal' : 'User',
    displayName: displayNameOf(user),
    email: email ?? null,
    isEnabled,
    lastSignInAt: lastSignInAt === undefined ? null : timestamp(lastSignInAt),
    tenantIds,
  }
}
