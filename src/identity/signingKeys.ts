import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import {
  generateSigningKey,
  type KeyRing,
  type KeyTimes,
  nextKeyDueAt,
  type SigningKey,
  sameRing,
  signingKeyAt,
  withKey,
  withoutExpired,
} from './keyRing.ts'
import type { KeyStore, StoredRing } from './keyStore.ts'

/** The signing keys of a running provider. They change without a restart. */
export interface SigningKeys {
  /** The published keys. */
  ring(): KeyRing
  /** The key that signs now. */
  signing(): SigningKey
  /** Checks the store now; this also happens when the store changes or a key is due. */
  check(): Promise<void>
  /** Notifies of every change of the published keys; the returned function unsubscribes. */
  onChange(listener: () => void): () => void
  stop(): void
}

export type SigningKeysOptions = {
  store: KeyStore
  /** The longest lifetime of a token, in seconds. */
  tokenLifetimeSeconds: number
  clock?: Clock
  log: Log
  generate?: (notBefore: number) => Promise<SigningKey>
}

const MINUTE_MS = 60_000
/** Milliseconds for which a key signs, and for which it is published before that. */
const ROTATE_AFTER_MS = 30 * 24 * 60 * MINUTE_MS
const PUBLISH_AHEAD_MS = 60 * MINUTE_MS
const CLOCK_SKEW_MS = 2 * MINUTE_MS
/** Another replica wrote at each lost race, so ten are already suspicious. */
const MAX_RACES = 10

/**
 * Opens the stored keys, or generates the first one. Replicas that start at once end up with the same keys.
 * @throws Error if the store does not answer at the start; later failures are logged and the last known keys stay in
 * use
 */
export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { clock = systemClock, log } = options
  const times: KeyTimes = {
    rotateAfter: ROTATE_AFTER_MS,
    publishAhead: PUBLISH_AHEAD_MS,
    keepAfter: options.tokenLifetimeSeconds * 1000 + CLOCK_SKEW_MS,
  }
  const ensure = () => ensureRing(options.store, times, clock, options.generate ?? generateSigningKey)
  const listeners = new Set<() => void>()
  let ring = await ensure()
  let timer: Timer | undefined
  let stopped = false

  async function check(): Promise<void> {
    const found = await ensure()
    if (stopped || sameRing(ring, found)) return
    ring = found
    log.info({ keys: ring.map(({ kid }) => kid) }, 'The published signing keys changed.')
    for (const listener of listeners) listener()
  }
  // A failed check is repeated at the next timer tick.
  let missed = false
  const checkSafely = () =>
    check().then(
      () => {
        missed = false
      },
      (error: unknown) => {
        missed = true
        log.warn({ error: messageOf(error) }, 'Cannot read the signing keys; the last known ones stay in use.')
      },
    )
  // Only the time makes keys due, so an idle provider does not query the store.
  const isDue = () =>
    missed ||
    nextKeyDueAt(ring, clock.now(), times) !== undefined ||
    !sameRing(ring, withoutExpired(ring, clock.now(), times))
  function schedule(): void {
    timer = clock.setTimeout(async () => {
      if (isDue()) await checkSafely()
      if (!stopped) schedule()
    }, MINUTE_MS)
  }
  schedule()
  const unsubscribe = options.store.onChange?.(() => void checkSafely())
  return {
    ring: () => ring,
    signing: () => requireKey(signingKeyAt(ring, clock.now())),
    check,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      stopped = true
      unsubscribe?.()
      timer?.cancel()
      listeners.clear()
    },
  }
}

/** Reads the ring and updates it if keys are due or expired, while other replicas may do the same. */
async function ensureRing(
  store: KeyStore,
  times: KeyTimes,
  clock: Clock,
  generate: (notBefore: number) => Promise<SigningKey>,
): Promise<KeyRing> {
  for (let attempt = 0; attempt < MAX_RACES; attempt += 1) {
    const stored = await store.read()
    const wanted = await updateRing(stored?.ring ?? [], times, clock.now(), generate)
    if (stored !== undefined && sameRing(stored.ring, wanted)) return stored.ring
    const written: StoredRing | undefined =
      stored === undefined ? await store.create(wanted) : await store.replace(wanted, stored.version)
    if (written !== undefined) return written.ring
  }
  throw new Error(`The signing keys changed ${MAX_RACES} times while they were read.`)
}

async function updateRing(
  ring: KeyRing,
  times: KeyTimes,
  now: number,
  generate: (notBefore: number) => Promise<SigningKey>,
): Promise<KeyRing> {
  const dueAt = nextKeyDueAt(ring, now, times)
  const kept = withoutExpired(ring, now, times)
  return dueAt === undefined ? kept : withKey(kept, await generate(dueAt))
}

function requireKey(key: SigningKey | undefined): SigningKey {
  if (key === undefined) throw new Error('There is no signing key.')
  return key
}
