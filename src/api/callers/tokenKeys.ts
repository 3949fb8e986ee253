import { calculateJwkThumbprint, createLocalJWKSet, type JSONWebKeySet, type JWK, type JWTVerifyGetKey } from 'jose'
import { Agent, request } from 'undici'
import { connectorTrusting } from '../../core/authorities.ts'
import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readWithin } from '../../core/readWithin.ts'

/** One version of the issuer's published keys (RFC 7517). */
export type KeySet = {
  /** For jose. Throws `JWKSNoMatchingKey` for a key that is not in the set. */
  readonly resolve: JWTVerifyGetKey
  /** The RFC 7638 thumbprint of a key: an id that is reused for another key does not stand for the old one. */
  thumbprintOf(kid: string): string | undefined
}

/** The issuer's keys, fetched when needed and kept while the issuer is away. */
export interface TokenKeys {
  /**
   * The keys as known; fetched first if there are no keys or they are very old.
   *
   * @returns undefined while the issuer has never answered
   */
  current(): Promise<KeySet | undefined>
  /** The keys after a fetch, or as known if the last fetch is too recent for another. */
  renewed(): Promise<KeySet | undefined>
  /** The issuer says that its keys changed: they are fetched at once. */
  changed(): Promise<void>
  stop(): Promise<void>
}

export type TokenKeysOptions = {
  fetchKeys: () => Promise<unknown>
  clock: Clock
  log: Log
}

/** Milliseconds after which keys in use are refreshed in the background, so that a withdrawn key stops working. */
const REFRESH_AFTER_MS = 60_000
/** After this long without use, a caller waits for the fetch instead. */
const BLOCKING_REFRESH_AFTER_MS = 10 * 60_000
/**
 * Tokens with invented key ids must not cause a flood of requests to the issuer: after a few fetches close together,
 * there is one per cooldown. The few are for keys that had to be replaced at once.
 */
const COOLDOWN_MS = 30_000
const COOLDOWN_FETCHES_MAX = 4
/** Milliseconds between any two fetches, also while the issuer has never answered: it may start later than we do. */
const MIN_FETCH_INTERVAL_MS = 1_000

/** Decides when to fetch, whatever the way to fetch. `fetchKeys` resolves to the parsed JSON of the key set. */
export function createTokenKeys({ fetchKeys, clock, log }: TokenKeysOptions): TokenKeys {
  let known: KeySet | undefined
  let knownSince = 0
  let attempts: number[] = []
  let pending: Promise<void> | undefined

  const since = (time: number | undefined) => (time === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - time)

  /** Joins a fetch in flight; does nothing within the cooldown. Never rejects. */
  function fetch(): Promise<void> {
    if (pending !== undefined) return pending
    if (!mayFetch()) return Promise.resolve()
    attempts = [...attempts, clock.monotonic()].slice(-COOLDOWN_FETCHES_MAX)
    pending = load().finally(() => {
      pending = undefined
    })
    return pending
  }
  function mayFetch(): boolean {
    if (since(attempts.at(-1)) < MIN_FETCH_INTERVAL_MS) return false
    return (
      known === undefined ||
      since(attempts.at(-1)) >= COOLDOWN_MS ||
      since(attempts.at(-COOLDOWN_FETCHES_MAX)) >= COOLDOWN_FETCHES_MAX * COOLDOWN_MS
    )
  }
  async function load(): Promise<void> {
    try {
      known = await keySetOf(await fetchKeys())
      knownSince = clock.monotonic()
    } catch (error) {
      const consequence = known === undefined ? 'No token can be verified' : 'The last known keys stay in use'
      log.warn({ error: messageOf(error) }, `Cannot fetch the keys of the token issuer. ${consequence}.`)
    }
  }
  return {
    async current() {
      if (known === undefined || since(knownSince) > BLOCKING_REFRESH_AFTER_MS) await fetch()
      else if (since(knownSince) > REFRESH_AFTER_MS) void fetch()
      return known
    },
    async renewed() {
      await fetch()
      return known
    },
    async changed() {
      await pending
      attempts = []
      await fetch()
    },
    stop: async () => pending,
  }
}

/** @throws Error if the answer is not a key set */
async function keySetOf(answer: unknown): Promise<KeySet> {
  const published = (answer as { keys?: unknown } | null)?.keys
  if (!Array.isArray(published)) throw new Error('The answer is not a JSON Web Key Set.')
  const keys = published.filter(isPublicSigningKey)
  const thumbprints = new Map<string, string>()
  for (const key of keys) thumbprints.set(key.kid, await calculateJwkThumbprint(key))
  const set: JSONWebKeySet = { keys }
  return { resolve: createLocalJWKSet(set), thumbprintOf: (kid) => thumbprints.get(kid) }
}

/** Other keys in a set (encryption, symmetric, private by mistake) must not verify signatures. */
function isPublicSigningKey(key: JWK): key is JWK & { kid: string } {
  const isPublic = (key.kty === 'RSA' || key.kty === 'EC' || key.kty === 'OKP') && key.d === undefined
  return isPublic && typeof key.kid === 'string' && key.kid !== '' && (key.use === undefined || key.use === 'sig')
}

const FETCH_TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 256 * 1024

/** Fetches a key set over HTTPS, without following redirects: keys come from the configured place or not at all. */
export function keyFetcher(url: string, certificateAuthority: (() => string) | undefined) {
  const agent = new Agent({
    connections: 1,
    connect: connectorTrusting(certificateAuthority, { timeout: FETCH_TIMEOUT_MS }),
  })
  async function fetchKeys(): Promise<unknown> {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      headers: { accept: 'application/jwk-set+json, application/json' },
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    })
    const tooLong = () => new Error(`${url} answered more than ${MAX_ANSWER_BYTES} bytes.`)
    const bytes = await readWithin(MAX_ANSWER_BYTES, body, tooLong)
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}.`)
    try {
      return JSON.parse(bytes.toString('utf8'))
    } catch {
      throw new Error(`${url} answered something that is not JSON.`)
    }
  }
  return { fetchKeys, close: () => agent.destroy() }
}
