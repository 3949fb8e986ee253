import { createHmac, randomBytes } from 'node:crypto'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import { isSameText } from '../core/sameText.ts'
import { digest, type StateEntry, type StateRecord, type StateStore, stateName } from './state.ts'

/** Beside sessions, the models stored in a Secret of their own; and the models stored in the Secret of their grant. */
const PENDING_MODELS = new Set(['Interaction', 'DeviceCode'])
const GRANT_MODELS = new Set(['Grant', 'AuthorizationCode', 'RefreshToken'])
/** How many used refresh tokens of a grant are stored: a program may revoke such a token without ending its login. */
const MAX_USED = 20
/** Sign-ins and grants of one person: each is kept for hours or days, however often somebody signs in. */
const MAX_OF_USER = 100
/** A fallback: oidc-provider sets a lifetime for everything stored here. Records without one would never be removed. */
const DEFAULT_TTL_SECONDS = 600
const FAMILY = /^[0-9a-f]{40}$/
/** The same clock as that of oidc-provider, whose times are compared with ours. */
const now = () => Math.floor(Date.now() / 1000)

/**
 * Returns an id for a code or refresh token: the hash of its grant id, 256 random bits, when it expires, and their MAC.
 * The MAC tells a token that was used long ago, and is no longer stored, from an invented one: the hash alone is the
 * public `sid`. The time tells it from one that has expired, which is not stored either.
 */
export function tokenIdOf(grantId: string, lifetimeSeconds: number): string {
  const expiresAt = now() + lifetimeSeconds
  const unsigned = `${digest(grantId)}.${randomBytes(32).toString('base64url')}.${expiresAt.toString(36)}`
  return `${unsigned}.${macOf(grantId, unsigned)}`
}

/** The id of a grant never leaves the platform, so it serves as the key. */
const macOf = (grantId: string, text: string) => createHmac('sha256', grantId).update(text).digest('base64url')

/** Whether this id of a token was issued under the grant and has not expired; false for those of before they had a MAC. */
function isValidIn({ entries }: StateRecord, id: string): boolean {
  const end = id.lastIndexOf('.')
  const [unsigned, mac] = [id.slice(0, end), id.slice(end + 1)]
  const expiresAt = Number.parseInt(unsigned.split('.')[2] ?? '', 36)
  if (!(expiresAt > now())) return false
  return Object.values(entries).some(
    ({ grantId }) => typeof grantId === 'string' && isSameText(mac, macOf(grantId, unsigned)),
  )
}

export type StateAdapterOptions = {
  state: StateStore
  /** Whether the current request revokes a single token, which must not end the whole grant. */
  revokesOne: () => boolean
  /** Takes and frees slots of sign-ins that were begun. */
  pending: { begin(id: string, seconds: number): void; end(id: string): void }
  /** The browser's session in the current request; `iat` is set if it was stored before, `oldId` if its id changes. */
  session: () => RequestSession | undefined
}
export type RequestSession = { readonly iat?: unknown; readonly oldId?: unknown }

/** Returns the storage of a model, or undefined for models that are not stored. */
export function stateAdapter(model: string, options: StateAdapterOptions): Adapter | undefined {
  const { state, revokesOne, session, pending } = options
  if (model === 'Session') return sessionAdapter(state, session)
  if (PENDING_MODELS.has(model)) return pendingAdapter(modelAdapter(model, state), pending)
  return GRANT_MODELS.has(model) ? grantAdapter(model, state, revokesOne) : undefined
}

const grantName = (grantId: string) => stateName('Grant', grantId)

/** Ids are secrets and must not be stored. */
function entryOf({ jti: _, ...payload }: AdapterPayload): StateEntry {
  return payload as StateEntry
}

function payloadOf(entry: StateEntry | undefined, id?: string): AdapterPayload | undefined {
  return entry === undefined ? undefined : ({ ...entry, ...(id === undefined ? {} : { jti: id }) } as AdapterPayload)
}

/** Marks as used, once across all replicas: a precondition decides races, and the loser sees the mark. */
function markUsed(entry: StateEntry): StateEntry {
  if (entry.consumed !== undefined) throw new errors.InvalidGrant('it was used before')
  return { ...entry, consumed: now() }
}

/**
 * Stores sessions. A session that ends during a request stays ended: writes by that request are dropped, whether under
 * the same id or a new one.
 */
function sessionAdapter(store: StateStore, current: StateAdapterOptions['session']): Adapter {
  const wasStored = new WeakMap<RequestSession, boolean>()
  const nameOf = (id: string) => stateName('Session', id)
  const onlyStored: Pick<StateStore, 'write'> = {
    write: async (record) => void (await store.change(record.name, () => record)),
  }
  const [unconditional, ifStored] = [
    modelAdapter('Session', store),
    modelAdapter('Session', { ...store, ...onlyStored }),
  ]
  const add = async (...[id, payload, expiresIn]: Parameters<Adapter['upsert']>) => {
    await unconditional.upsert(id, payload, expiresIn)
    if (payload.accountId !== undefined) await store.limitOf(payload.accountId, MAX_OF_USER)
  }
  return {
    ...unconditional,
    async upsert(id, payload, expiresIn) {
      const session = current()
      if (session?.iat === undefined) return add(id, payload, expiresIn)
      // A session whose id changes is written under the new id right after the old one was destroyed.
      const isStored = wasStored.get(session)
      if (session.oldId === undefined || isStored === undefined) return ifStored.upsert(id, payload, expiresIn)
      if (isStored) return add(id, payload, expiresIn)
    },
    async destroy(id) {
      const session = current()
      if (session?.oldId !== id) return unconditional.destroy(id)
      const found = await store.take(nameOf(id))
      if (!wasStored.has(session)) wasStored.set(session, found !== undefined)
    },
  }
}

function modelAdapter(model: string, store: StateStore): Adapter {
  const nameOf = (id: string) => stateName(model, id)
  const byIndex = async (value: string) => payloadOf((await store.findByIndex(indexOf(model, value)))?.entries.value)
  return {
    async upsert(id, payload, expiresIn = DEFAULT_TTL_SECONDS) {
      const second = model === 'Session' ? payload.uid : payload.userCode
      await store.write({
        name: nameOf(id),
        // A device code is found by its user code and then saved by its id, so its Secret contains the id.
        entries: { value: entryOf(payload), ...(model === 'DeviceCode' ? { id: { jti: id } } : {}) },
        expiresAt: now() + expiresIn,
        ...(second === undefined ? {} : { index: indexOf(model, second) }),
        ...(payload.accountId === undefined ? {} : { userId: payload.accountId }),
      })
    },
    find: async (id) => payloadOf((await store.read(nameOf(id)))?.entries.value, id),
    findByUid: byIndex,
    async findByUserCode(userCode) {
      const found = await store.findByIndex(indexOf(model, userCode))
      // The id is needed to save the person's approval.
      return payloadOf(found?.entries.value, found?.entries.id?.jti as string | undefined)
    },
    async consume(id) {
      await store.change(nameOf(id), (record) => ({
        ...record,
        entries: { ...record.entries, value: markUsed(record.entries.value ?? {}) },
      }))
    },
    destroy: (id) => store.remove(nameOf(id)),
    // Device codes are useless without their grant.
    revokeByGrantId: async () => {},
  }
}

function pendingAdapter(adapter: Adapter, pending: StateAdapterOptions['pending']): Adapter {
  return {
    ...adapter,
    async upsert(id, payload, expiresIn = DEFAULT_TTL_SECONDS) {
      pending.begin(id, expiresIn)
      await adapter.upsert(id, payload, expiresIn)
    },
    async destroy(id) {
      pending.end(id)
      await adapter.destroy(id)
    },
  }
}

function indexOf(model: string, value: string): string {
  return `${model.toLowerCase()}-${digest(value)}`
}

function grantAdapter(model: string, store: StateStore, revokesOne: () => boolean): Adapter {
  const placeOf = (id: string): { name: string; key: string } | undefined => {
    if (model === 'Grant') return { name: grantName(id), key: 'grant' }
    const [family = ''] = id.split('.')
    // Caller input may become part of a name only if it looks like one of our ids.
    return FAMILY.test(family) ? { name: `identity-grant-${family}`, key: `${model}-${digest(id)}` } : undefined
  }
  return {
    async upsert(id, payload, expiresIn = DEFAULT_TTL_SECONDS) {
      const location = placeOf(id)
      if (location === undefined) throw new Error(`An id of a ${model} names no grant.`)
      const expiresAt = now() + expiresIn
      const put = (record: StateRecord): StateRecord => ({
        ...record,
        entries: pruneEntries({ ...record.entries, [location.key]: entryOf(payload) }),
        expiresAt: Math.max(record.expiresAt, expiresAt),
      })
      if (await store.change(location.name, put)) return
      // Revoked in the meantime, by a sign-out or because a code was reused.
      if (model !== 'Grant') throw new errors.InvalidGrant('the grant was revoked')
      const { accountId: userId } = payload
      await store.write(
        put({ name: location.name, entries: {}, expiresAt, ...(userId === undefined ? {} : { userId }) }),
      )
      if (userId !== undefined) await store.limitOf(userId, MAX_OF_USER)
    },
    async find(id) {
      const location = placeOf(id)
      const record = location && (await store.read(location.name))
      if (location === undefined || record === undefined) return undefined
      const entry = record.entries[location.key]
      // Used so long ago that it is forgotten. As with every used one, one of its two holders stole it.
      const isReused = entry === undefined && model === 'RefreshToken' && isValidIn(record, id)
      if (isReused && !revokesOne()) await store.remove(location.name)
      return entry?.isRevoked === true ? undefined : payloadOf(entry, id)
    },
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
    async consume(id) {
      const location = placeOf(id)
      if (location === undefined) return
      try {
        await store.change(location.name, (record) => ({
          ...record,
          entries: { ...record.entries, [location.key]: markUsed(record.entries[location.key] ?? {}) },
        }))
      } catch (error) {
        // The token was used twice, so one of the two callers stole it: revoke the grant.
        if (error instanceof errors.InvalidGrant) await store.remove(location.name)
        throw error
      }
    },
    async destroy(id) {
      const location = placeOf(id)
      if (location === undefined) return
      if (model === 'Grant') return store.remove(location.name)
      await store.change(location.name, (record) => {
        const { [location.key]: former, ...entries } = record.entries
        if (model !== 'RefreshToken' || former === undefined) return { ...record, entries }
        const { exp, grantId } = former
        // It stays known like a used one: a program that shows it once more must not end the other logins of the grant.
        const mark = { grantId, consumed: now(), isRevoked: true, ...(exp !== undefined && { exp }) }
        return { ...record, entries: { ...entries, [location.key]: mark } }
      })
    },
    async revokeByGrantId(grantId) {
      if (!revokesOne()) await store.remove(grantName(grantId))
    },
  }
}

/** A grant outlives its tokens, so drop the expired ones and the oldest used ones. */
function pruneEntries(entries: Record<string, StateEntry>): Record<string, StateEntry> {
  const unexpired = Object.entries(entries).filter(([, { exp }]) => exp === undefined || exp > now())
  const consumedEntries = unexpired.filter(([, { consumed }]) => consumed !== undefined)
  const excess = new Set(
    consumedEntries
      .sort(([, first], [, second]) => (second.consumed ?? 0) - (first.consumed ?? 0))
      .slice(MAX_USED)
      .map(([key]) => key),
  )
  return Object.fromEntries(unexpired.filter(([key]) => !excess.has(key)))
}
