import type { LogLine } from '../../contracts/logs.ts'
import { charactersOf } from './lineQueue.ts'

/** Characters that are kept for readers who come later. */
const KEPT = 1024 * 1024

/** The end of a log that is being followed, so that most who join later cost its node nothing. */
export class RecentLines {
  #batches: (readonly LogLine[])[] = []
  #characters = 0
  #count = 0
  /** Whether nothing was written before. */
  #isWhole = false

  begin(lines: readonly LogLine[], isWhole: boolean): void {
    this.#isWhole = isWhole
    this.push(lines)
  }

  push(lines: readonly LogLine[]): void {
    this.#batches.push(lines)
    this.#characters += charactersOf(lines)
    this.#count += lines.length
    while (this.#characters > KEPT && this.#batches.length > 1) {
      const dropped = this.#batches.shift() ?? []
      this.#characters -= charactersOf(dropped)
      this.#count -= dropped.length
      this.#isWhole = false
    }
  }

  /** The last `count` lines; undefined if fewer are remembered than were written. */
  last(count: number): readonly LogLine[] | undefined {
    if (this.#count < count && !this.#isWhole) return undefined
    return count === 0 ? [] : this.#batches.flat().slice(-count)
  }
}
