import { hash } from 'node:crypto'

/** Identifies a record of a list, even if the record shows no id. */
export type EntryNames = {
  /** Unique within the list. */
  readonly id: string
  readonly name: string
  readonly resourceGroup?: string
}

/** A record of a list, with the JSON that is sent. */
export type ListEntry = EntryNames & { readonly text: string }

export type ListChange = {
  readonly type: 'added' | 'modified' | 'deleted'
  /** JSON: the record, or the names of a deleted one. */
  readonly text: string
  /** The state of the list for a reader who has received this change and all before it. */
  readonly state: string
}

type SentEntry = { readonly names: EntryNames; readonly digest: bigint }

/** What a reader of a list has been sent. Keeps only a digest of each record, because records may be long. */
export class ListState {
  readonly #sent = new Map<string, SentEntry>()
  #state = 0n

  /** Identifies what the reader has been sent: equal lists have equal names at every replica. */
  get name(): string {
    return this.#state.toString(36)
  }

  get size(): number {
    return this.#sent.size
  }

  /** Returns the changes from the list that was sent to this one. */
  changesTo(entries: readonly ListEntry[]): ListChange[] {
    const changes: ListChange[] = []
    const present = new Set(entries.map(({ id }) => id))
    for (const [id, { names, digest }] of this.#sent) {
      if (present.has(id)) continue
      this.#sent.delete(id)
      this.#state ^= digest
      changes.push({ type: 'deleted', text: JSON.stringify(names), state: this.name })
    }
    for (const { text, ...names } of entries) {
      const { id } = names
      const before = this.#sent.get(id)
      const digest = digestOf(id, text)
      if (before?.digest === digest) continue
      this.#sent.set(id, { names, digest })
      this.#state ^= (before?.digest ?? 0n) ^ digest
      changes.push({ type: before === undefined ? 'added' : 'modified', text, state: this.name })
    }
    return changes
  }
}

/** The state combines the digests of all records with XOR, so their order does not matter. */
function digestOf(id: string, text: string): bigint {
  return BigInt(`0x${hash('sha256', `${id}\0${text}`, 'hex').slice(0, 32)}`)
}
