import { type Access, accessIn, endsOfLines } from './access.ts'

/** More than the store writes of one request: it takes 8 KiB of one, and writes what is in them three times. */
const LONGEST = 64 * 1024

const ENCODED = /%0A/i

/**
 * Finds requests in the lines of an access log, the last first. Lines do not tell them apart: a key may hold lines that look
 * like requests. What nobody can forge is where one ends: the log ends with a request, and before each stands another.
 * The store gives each an id of its own, which no client knows before it is written; so nothing that a client sent
 * fits together with lines of a later request, and of all texts that end there and are a request, the longest is it.
 *
 * Where none is, it is not known where the request before ends. No line is then believed until no URI is near that
 * encodes an end of a line; without one every line is a request.
 */
export class AccessScan {
  /** The last line first, from `#first` on. */
  #lines: string[] = []
  #first = 0
  /** Lines that were taken, and characters of them. */
  #taken = 0
  #passed = 0
  #added = 0
  #seen = 0
  /** By the last line of a request: how many lines it may have. */
  #lengths = new Map<number, Set<number>>()
  /** Where lines with encoded ends of lines are, nearest first, and where the last one was. */
  #marks: number[] = []
  #lastMark = Number.NEGATIVE_INFINITY
  #isLost = false

  /** Whether the next request is here as a whole, however long it is. */
  get holdsOne(): boolean {
    return this.#seen - this.#passed >= LONGEST
  }

  get isEmpty(): boolean {
    return this.#taken === this.#added
  }

  /** Adds the line that stands before the others. */
  add(line: string): void {
    if (ENCODED.test(line)) {
      this.#marks.push(this.#seen)
      // A status follows the URI.
      const words = line.split(' ')
      for (const [at, word] of words.entries())
        if (/^\d{3}$/.test(words[at + 1] ?? '') && ENCODED.test(word)) this.#expect(word)
    }
    this.#lines.push(line)
    this.#added += 1
    this.#seen += line.length + 1
  }

  /** The next request, as far as one is understood, and the length of what was taken. */
  next(): { access: Access | undefined; length: number } {
    const before = this.#passed
    if (this.#isLost && this.#isClear()) this.#isLost = false
    const found = this.#isLost ? undefined : this.#find()
    if (found === undefined) {
      // The store writes such a line whenever it opens the log.
      const isOther = this.#lines[this.#first]?.startsWith('log starts ')
      this.#isLost ||= !(isOther || this.#isClear())
    }
    this.#drop(found?.lines ?? 1)
    return { access: found?.access, length: this.#passed - before }
  }

  #expect(uri: string): void {
    const { path, version } = endsOfLines(uri)
    // A path that is no URI stands as it is.
    for (const ends of new Set([path, 0])) {
      const last = this.#added - ends - version
      if (last < this.#taken) continue
      const lengths = this.#lengths.get(last) ?? new Set()
      this.#lengths.set(last, lengths.add(2 * ends + version + 1))
    }
  }

  #find(): { access: Access; lines: number } | undefined {
    const lengths = [...(this.#lengths.get(this.#taken) ?? []), 1].sort((one, other) => other - one)
    for (const lines of lengths) {
      if (lines > this.#added - this.#taken) continue
      const text = this.#lines.slice(this.#first, this.#first + lines)
      const access = accessIn(text.reverse().join('\n'))
      if (access !== undefined) return { access, lines }
    }
    return undefined
  }

  #isClear(): boolean {
    const [next = Number.POSITIVE_INFINITY] = this.#marks
    return this.#passed - this.#lastMark >= LONGEST && next - this.#passed >= LONGEST
  }

  #drop(lines: number): void {
    for (let left = lines; left > 0; left -= 1) {
      this.#lengths.delete(this.#taken)
      this.#passed += (this.#lines[this.#first]?.length ?? 0) + 1
      this.#first += 1
      this.#taken += 1
    }
    while (this.#marks[0] !== undefined && this.#marks[0] < this.#passed) {
      this.#lastMark = this.#passed
      this.#marks.shift()
    }
    if (this.#first < 4_096) return
    this.#lines = this.#lines.slice(this.#first)
    this.#first = 0
  }
}
