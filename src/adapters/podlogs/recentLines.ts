import type { LogLine } from '../../contracts/logs.ts'
import { charactersOf } from './lineQueue.ts'

/** Characters to keep for later followers. */
const KEPT_CHARACTERS = 1024 * 1024

/** The recent lines of a followed log, so that most later followers need no request to its node. */
export class RecentLines {
  #batches: (readonly LogLine[])[] = []
  #characters = 0
  #count = 0
  /** Whether these are all the lines of the log. */
  #isWhole = false

  begin(lines: readonly LogLine[], isWhole: boolean): void {
    this.#isWhole = isWhole
    this.push(lines)
  }

  push(lines: readonly LogLine[]): void {
    this.#batches.push(lines)
    this.#characters += charactersOf(lines)
    this.#count += lines.length
    while (this.#characters > KEPT_CHARACTERS && this.#batches.length > 1) {
      const dropped = this.#batches.shift() ?? []
      this.#characters -= charactersOf(dropped)
      this.#count -= dropped.length
      this.#isWhole = false
    }
  }

  /** Returns the last `count` lines; undefined if fewer are buffered but more were written. */
  last(count: number): readonly LogLine[] | undefined {
    if (this.#count < count && !this.#isWhole) return undefined
    return count === 0 ? [] : this.#batches.flat().slice(-count)
  }
}
