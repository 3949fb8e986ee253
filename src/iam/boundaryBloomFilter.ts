/** The part of an assignment that says which principal has access to which boundary. */
type BoundaryAccess = { readonly principal: { readonly number: number }; readonly scope: { readonly boundary: number } }

const MIN_WORDS = 64
/** Assignments per 32-bit word; each sets two bits. With more, over a tenth of the answers would be false positives. */
const ASSIGNMENTS_PER_WORD = 4

/**
 * A Bloom filter of which boundaries the assignments of a principal reach. Most principals that a decision looks at
 * have no assignment there, and assignments are so scattered in memory that each lookup misses the CPU cache. A few
 * adjacent bits save that lookup. False positives are possible, false negatives are not. Bits of removed assignments
 * remain until the filter is full and rebuilt.
 */
export class BoundaryBloomFilter {
  readonly #assignments: ReadonlyMap<string, BoundaryAccess>
  #words = new Int32Array(MIN_WORDS)
  /** The number of bits by which a hash is shifted to get the index of its word. */
  #shift = shiftOf(MIN_WORDS)
  #capacityLeft = MIN_WORDS * ASSIGNMENTS_PER_WORD

  /** @param assignments the current assignments, from which the filter is rebuilt */
  constructor(assignments: ReadonlyMap<string, BoundaryAccess>) {
    this.#assignments = assignments
  }

  /** Must be called for each new assignment. */
  add(assignment: BoundaryAccess): void {
    if (this.#capacityLeft === 0) this.#rebuild()
    this.#capacityLeft -= 1
    this.#set(assignment)
  }

  /** @param boundary the number of the boundary's scope node, or of the root for assignments at the root */
  mayHold(principal: number, boundary: number): boolean {
    const hash = hashOf(principal, boundary)
    const bits = bitsOf(hash)
    return ((this.#words[hash >>> this.#shift] ?? 0) & bits) === bits
  }

  /** Leaves at least half of the filter empty, so that rebuilding costs constant time per added assignment. */
  #rebuild(): void {
    const { size } = this.#assignments
    let length = MIN_WORDS
    while (length * ASSIGNMENTS_PER_WORD < size * 2) length *= 2
    this.#words = new Int32Array(length)
    this.#shift = shiftOf(length)
    this.#capacityLeft = length * ASSIGNMENTS_PER_WORD - size
    for (const assignment of this.#assignments.values()) this.#set(assignment)
  }

  #set({ principal, scope }: BoundaryAccess): void {
    const hash = hashOf(principal.number, scope.boundary)
    const index = hash >>> this.#shift
    this.#words[index] = (this.#words[index] ?? 0) | bitsOf(hash)
  }
}

/** The upper bits choose the word, the lower ones two bits in it. The factors are odd and mix well. */
function hashOf(principal: number, boundary: number): number {
  const mixed = Math.imul(principal, 0x9e3779b1) + Math.imul(boundary, 0x85ebca77)
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
}

function bitsOf(hash: number): number {
  return (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
}

function shiftOf(wordCount: number): number {
  return 32 - Math.log2(wordCount)
}
