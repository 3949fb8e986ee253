import { hash } from 'node:crypto'

/** What tells a record of a list from all others, also where the record shows no id. */
export type EntryNames = {
  /** No two records of the list share it. */
  readonly id: string
  readonly name: string
  readonly resourceGroup?: string
}

/** A record of a list, with the JSON that its answer shows. */
export type ListEntry = EntryNames & { readonly text: string }

export type ListChange = {
  readonly type: 'added' | 'modified' | 'deleted'
  /** JSON: the record, or of one that is gone its names. */
  readonly text: string
  /** What the list is for whoever has heard of this change and of all before it. */
  readonly state: string
}

type Told = { readonly names: EntryNames; readonly digest: bigint }

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
    for (const [id, { names, digest }] of this.#told) {
      if (present.has(id)) continue
      this.#told.delete(id)
      this.#state ^= digest
      changes.push({ type: 'deleted', text: JSON.stringify(names), state: this.name })
    }
    for (const { text, ...names } of entries) {
      const { id } = names
      const before = this.#told.get(id)
      const digest = digestOf(id, text)
      if (before?.digest === digest) continue
      this.#told.set(id, { names, digest })
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
