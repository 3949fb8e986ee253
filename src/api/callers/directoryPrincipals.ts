import type { UserDirectory, UserRecord } from '../../adapters/identity/port.ts'
import { type Clock, timestamp } from '../../core/clock.ts'
import { isUuid } from '../../core/names.ts'
import { displayNameOf } from '../people/accounts.ts'
import type { Principal, Principals } from './principals.ts'

/** How long an answer of the identity provider is cached: lists ask for the same people again and again. */
const KEPT = 10_000
const MOST = 10_000
/** Calls at once: lists of grants may name thousands of people. */
const AT_ONCE = 10
/** Keycloak keeps a user for each service account. */
const SERVICE_ACCOUNT = 'service-account-'

/** Principals of an identity provider that keeps people itself; groups and what else has a record come from the records. */
export function directoryPrincipals(
  recorded: Principals,
  users: Pick<UserDirectory, 'find'>,
  clock: Clock,
): Principals {
  const kept = new Map<string, { user: UserRecord | undefined; until: number }>()
  const asking = new Map<string, Promise<UserRecord | undefined>>()
  const inTurn = fewAtOnce(AT_ONCE)
  async function look(id: string): Promise<UserRecord | undefined> {
    const before = kept.get(id)
    if (before !== undefined && before.until > clock.monotonic()) return before.user
    const asked = asking.get(id) ?? inTurn(() => ask(id)).finally(() => asking.delete(id))
    asking.set(id, asked)
    return asked
  }
  async function ask(id: string): Promise<UserRecord | undefined> {
    const user = await users.find(id)
    if (kept.size >= MOST) kept.clear()
    kept.set(id, { user, until: clock.monotonic() + KEPT })
    return user
  }
  return {
    async find(ids, boundaryId) {
      const wanted = [...new Set(ids)]
      const found = new Map(await recorded.find(wanted, boundaryId))
      const others = wanted.filter((id) => !found.has(id) && isUuid(id))
      for (const user of await Promise.all(others.map(look))) {
        if (user !== undefined) found.set(user.id, principalOf(user))
      }
      return found
    },
  }
}

/** Begins a piece of work when fewer than so many are under way. */
function fewAtOnce(most: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    // Who ends hands over the place, so that nobody who comes in between takes it.
    if (running < most) running += 1
    else await new Promise<void>((begin) => waiting.push(begin))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

function principalOf(user: UserRecord): Principal {
  const { id, userName, email, isEnabled, lastSignInAt, tenantIds } = user
  return {
    id,
    principalType: userName.startsWith(SERVICE_ACCOUNT) ? 'ServicePrincipal' : 'User',
    displayName: displayNameOf(user),
    email: email ?? null,
    isEnabled,
    lastSignInAt: lastSignInAt === undefined ? null : timestamp(lastSignInAt),
    tenantIds,
  }
}
