import type { PlatformKey } from '../../contracts/vaults/envelope.ts'

/** Keys in memory, oldest first, with change handlers. */
export class MemoryKeyRing {
  #keys: readonly PlatformKey[] = []
  readonly #handlers = new Set<() => void>()

  get keys(): readonly PlatformKey[] {
    return this.#keys
  }

  newest(): PlatformKey | undefined {
    return this.#keys.at(-1)
  }

  find(id: string): PlatformKey | undefined {
    return this.#keys.find((key) => key.id === id)
  }

  onChange(handler: () => void): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  protected replace(keys: readonly PlatformKey[]): void {
    this.#keys = keys
    for (const handler of this.#handlers) handler()
  }
}
