import { type KeyRing, type SigningKey, withKey } from '../../src/identity/keyRing.ts'
import type { SigningKeys } from '../../src/identity/signingKeys.ts'

/** Keys whose ring and signing key a test sets. */
export class KeysByHand implements SigningKeys {
  #ring: KeyRing
  #signing: SigningKey
  readonly #listeners = new Set<() => void>()

  constructor(key: SigningKey) {
    this.#ring = [key]
    this.#signing = key
  }
  ring = () => this.#ring
  signing = () => this.#signing
  check = async () => {}
  stop = () => this.#listeners.clear()
  onChange(listener: () => void) {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  publish(key: SigningKey) {
    this.#ring = withKey(this.#ring, key)
    for (const listener of this.#listeners) listener()
  }
  use(key: SigningKey) {
    this.#signing = key
  }
}
