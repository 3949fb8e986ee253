import { randomBytes } from 'node:crypto'
import { KEY_BYTES, type PlatformKey } from '../../contracts/vaults/envelope.ts'
import type { PlatformKeys } from './port.ts'

/** Platform keys in memory, which tests add and retire. */
export class FakePlatformKeys implements PlatformKeys {
  #keys: PlatformKey[]
  readonly #handlers = new Set<() => void>()

  constructor(...ids: string[]) {
    this.#keys = ids.map((id) => ({ id, bytes: randomBytes(KEY_BYTES) }))
  }

  newest(): PlatformKey | undefined {
    return this.#keys.at(-1)
  }

  find(id: string): PlatformKey | undefined {
    return this.#keys.find((key) => key.id === id)
  }

  async refresh(): Promise<void> {}

  onChange(handler: () => void): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  stop(): void {}

  add(id: string): void {
    this.#keys = [...this.#keys, { id, bytes: randomBytes(KEY_BYTES) }]
    for (const handler of this.#handlers) handler()
  }

  retire(id: string): void {
    this.#keys = this.#keys.filter((key) => key.id !== id)
    for (const handler of this.#handlers) handler()
  }
}
