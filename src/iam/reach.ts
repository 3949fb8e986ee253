/** An assignment, as far as it says which principal has something in which boundary. */
type Reaching = { readonly principal: { readonly number: number }; readonly scope: { readonly boundary: number } }

const FEWEST_WORDS = 64
/** Assignments for each word of 32 bits, of which each sets two. With more, every tenth answer would be yes in vain. */
const A_WORD = 4

/**
 * Which boundaries the assignments of a principal reach into, as a Bloom filter. Most of what a decision asks about has
 * no assignment, and the assignments lie so wide apart that each look at one waits for the memory: a few bits for each,
 * close together, spare it. It may say yes in vain, never no in vain. Bits of assignments that are gone stay until the
 * filter is full and made anew.
 */
export class Reach {
  readonly #assignments: ReadonlyMap<string, Reaching>
  #words = new Int32Array(FEWEST_WORDS)
  /** How far a hash is shifted for the place of its word. */
  #shift = shiftOf(FEWEST_WORDS)
  #room = FEWEST_WORDS * A_WORD

  /** @param assignments those that count, whenever the filter is made anew */
  constructor(assignments: ReadonlyMap<string, Reaching>) {
    this.#assignments = assignments
  }

  /** For each assignment that comes. */
  add(assignment: Reaching): void {
    if (this.#room === 0) this.#makeAnew()
    this.#room -= 1
    this.#set(assignment)
  }

  /** @param boundary the number of its scope; of the root for assignments there */
  mayHold(principal: number, boundary: number): boolean {
    const hash = hashOf(principal, boundary)
    const bits = bitsOf(hash)
    return ((this.#words[hash >>> this.#shift] ?? 0) & bits) === bits
  }

  /** Half full at most, so that changes pay for it. */
  #makeAnew(): void {
    const { size } = this.#assignments
    let length = FEWEST_WORDS
    while (length * A_WORD < size * 2) length *= 2
    this.#words = new Int32Array(length)
    this.#shift = shiftOf(length)
    this.#room = length * A_WORD - size
    for (const assignment of this.#assignments.values()) this.#set(assignment)
  }

  #set({ principal, scope }: Reaching): void {
    const hash = hashOf(principal.number, scope.boundary)
    const place = hash >>> this.#shift
    this.#words[place] = (this.#words[place] ?? 0) | bitsOf(hash)
  }
}

/** The upper bits choose the word, the lower ones two bits in it. The factors are odd and far from regular. */
function hashOf(principal: number, boundary: number): number {
  const mixed = Math.imul(principal, 0x9e3779b1) + Math.imul(boundary, 0x85ebca77)
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
}

function bitsOf(hash: number): number {
  return (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
}

function shiftOf(words: number): number {
  return 32 - Math.log2(words)
}
