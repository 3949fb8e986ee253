import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { silentLog } from '../core/log.ts'
import type { KeyRing, SigningKey } from './keyRing.ts'
import type { KeyStore } from './keyStore.ts'
import { openSigningKeys, type SigningKeys } from './signingKeys.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A ring that several replicas share, with the preconditions of the API server. */
class MemoryKeyStore implements KeyStore {
  stored: { ring: KeyRing; version: string } | undefined
  isDown = false
  reads = 0
  #version = 0
  readonly #listeners = new Set<() => void>()

  onChange = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  tell = () => {
    for (const listener of this.#listeners) listener()
  }
  read = async () => {
    this.reads += 1
    if (this.isDown) throw new Error('the store is away')
    return this.stored
  }
  create = async (ring: KeyRing) => (this.stored === undefined ? this.#put(ring) : undefined)
  replace = async (ring: KeyRing, version: string) => (this.stored?.version === version ? this.#put(ring) : undefined)
  #put(ring: KeyRing) {
    this.#version += 1
    this.stored = { ring, version: String(this.#version) }
    return this.stored
  }
}

describe('openSigningKeys', () => {
  let store: MemoryKeyStore
  let clock: ManualClock
  let made: number
  let opened: SigningKeys[]

  beforeEach(() => {
    store = new MemoryKeyStore()
    clock = new ManualClock()
    made = 0
    opened = []
  })
  afterEach(() => {
    for (const keys of opened) keys.stop()
  })

  async function open(): Promise<SigningKeys> {
    const generate = async (notBefore: number): Promise<SigningKey> => {
      made += 1
      return { kid: `key-${made}`, notBefore, jwk: { kty: 'RSA' } }
    }
    const keys = await openSigningKeys({ store, clock, log: silentLog, tokenLifetimeSeconds: 900, generate })
    opened.push(keys)
    return keys
  }
  const kids = (keys: SigningKeys) => keys.ring().map(({ kid }) => kid)

  it('generates a key at the first start and finds it at the next', async () => {
    const first = await open()
    const second = await open()
    expect(kids(first)).to.deep.equal(kids(second))
    expect(second.signing().kid).to.equal(first.signing().kid)
    expect(made).to.equal(1)
  })

  it('returns the same key in replicas that start concurrently', async () => {
    const replicas = await Promise.all([open(), open(), open(), open()])
    expect(new Set(replicas.map((keys) => keys.signing().kid)).size).to.equal(1)
    expect(made, 'several keys were generated').to.be.above(1)
  })

  it('publishes a new key an hour before it signs, and removes the old one after its tokens', async () => {
    const keys = await open()
    const changes: string[][] = []
    keys.onChange(() => changes.push(kids(keys)))
    const old = keys.signing().kid

    clock.freeze(30 * DAY - 60 * MINUTE)
    await keys.check()
    const [, next] = kids(keys)
    expect(kids(keys)).to.deep.equal([old, next])
    expect(keys.signing().kid).to.equal(old)

    clock.freeze(60 * MINUTE)
    expect(keys.signing().kid, 'without a further check').to.equal(next)

    clock.freeze(15 * MINUTE)
    await keys.check()
    expect(kids(keys), 'tokens of the old key live').to.deep.equal([old, next])
    clock.freeze(2 * MINUTE)
    await keys.check()
    expect(kids(keys)).to.deep.equal([next])
    expect(changes).to.deep.equal([[old, next], [next]])
  })

  it('rotates once when two replicas check concurrently', async () => {
    const [first, second] = [await open(), await open()]
    clock.freeze(30 * DAY)
    await Promise.all([first.check(), second.check()])
    expect(kids(first)).to.have.length(2).and.to.deep.equal(kids(second))
  })

  it('generates a key when the stored ones were deleted', async () => {
    const keys = await open()
    const old = keys.signing().kid
    store.stored = undefined
    await keys.check()
    expect(kids(keys)).to.have.length(1).and.to.not.include(old)
    expect(keys.signing().kid).to.equal(kids(keys)[0])
  })

  it('reads the store when it changes, and again a minute after a failure', async () => {
    const keys = await open()
    const old = keys.signing().kid
    store.isDown = true
    store.stored = undefined
    store.tell()
    await clock.advance(0)
    expect(keys.signing().kid, 'the last known ones stay in use').to.equal(old)
    store.isDown = false
    await clock.advance(MINUTE)
    expect(keys.signing().kid).to.not.equal(old)
  })

  it('does not read the store while no rotation is due', async () => {
    await open()
    const reads = store.reads
    await clock.advance(MINUTE)
    await clock.advance(MINUTE)
    expect(store.reads).to.equal(reads)
  })

  it('leaves no timer after stop', async () => {
    const keys = await open()
    expect(clock.pending).to.equal(1)
    keys.stop()
    expect(clock.pending).to.equal(0)
  })

  it('rejects if the store cannot be read', async () => {
    store.isDown = true
    const failure = await open().then(
      () => undefined,
      (error: Error) => error.message,
    )
    expect(failure).to.equal('the store is away')
  })
})
