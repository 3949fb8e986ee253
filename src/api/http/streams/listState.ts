import { hash } from 'node:crypto'

/** A record of a list, as its answer shows it. */
export type ListEntry = {
  /** What no two records of the list share. */
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly text: string
}

export type ListChange = {
  readonly type: 'added' | 'modified' | 'deleted'
  /** JSON: the record, or of one that is gone its id and its name. */
  readonly text: string
  /** What the list is for whoever has heard of this change and of all before it. */
  readonly state: string
}

type Told = { readonly name: string; readonly digest: bigint }

/**
 * What a reader of a list has been told. Of each record it keeps a digest only, so that it takes little memory however
 * long the records are.
 */
export class ListState {
  readonly #told = new Map<string, Told>()
  #state = 0n

  /** Names what the reader has been told: equal lists have equal names, at whichever replica. */
  get name(): string {
    return this.#state.toString(36)
  }

  get size(): number {
    return this.#told.size
  }

  /** What makes of the list that was told this one. A record that is as it was told makes nothing. */
  changesTo(entries: readonly ListEntry[]): ListChange[] {
    const changes: ListChange[] = []
    const present = new Set(entries.map(({ id }) => id))
    for (const [id, { name, digest }] of this.#told) {
      if (present.has(id)) continue
      this.#told.delete(id)
      this.#state ^= digest
      changes.push({ type: 'deleted', text: JSON.stringify({ id, name }), state: this.name })
    }
    for (const { id, name, text } of entries) {
      const before = this.#told.get(id)
      const digest = digestOf(id, text)
      if (before?.digest === digest) continue
      this.#told.set(id, { name, digest })
      this.#state ^= (before?.digest ?? 0n) ^ digest
      changes.push({ type: before === undefined ? 'added' : 'modified', text, state: this.name })
    }
    return changes
  }
}

/** The state is the digests of all records together, whatever the order in which they were told. */
function digestOf(id: string, text: string): bigint {
  return BigInt(`0x${hash('sha256', `${id}\0${text}`, 'hex').slice(0, 32)}`)
}
