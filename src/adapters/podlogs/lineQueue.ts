import { isAfter, type LogLine } from '../../contracts/logs.ts'

/** Lines that wait for one reader. */
export class LineQueue {
  readonly #onDrained: () => void
  readonly #signal: AbortSignal
  #batches: (readonly LogLine[])[] = []
  #characters = 0
  #dropUntil: string | undefined
  #end: { error?: unknown } | undefined
  #wake: () => void = () => {}

  /** @param signal ends the reading, without an error */
  constructor(signal: AbortSignal, onDrained: () => void) {
    this.#signal = signal
    this.#onDrained = onDrained
  }

  /** How much waits. */
  get characters(): number {
    return this.#end === undefined && !this.#signal.aborted ? this.#characters : 0
  }

  push(lines: readonly LogLine[]): void {
    if (this.#end !== undefined) return
    this.#batches.push(lines)
    this.#characters += charactersOf(lines)
    this.#wake()
  }

  /** Lines up to this time are not shown. */
  dropUntil(time: string | undefined): void {
    this.#dropUntil = time
  }

  /** What waits is still read. */
  end(): void {
    this.#end ??= {}
    this.#wake()
  }

  /** What waits is not read any more. */
  fail(error: unknown): void {
    this.#end ??= { error }
    this.#batches = []
    this.#wake()
  }

  async *batches(): AsyncGenerator<readonly LogLine[]> {
    const wake = () => this.#wake()
    this.#signal.addEventListener('abort', wake)
    try {
      while (!this.#signal.aborted) {
        const batch = this.#batches.shift()
        if (batch !== undefined) {
          this.#characters -= charactersOf(batch)
          this.#onDrained()
          const lines = this.#dropUntil === undefined ? batch : batch.filter((line) => isAfter(line, this.#dropUntil))
          if (lines.length > 0) yield lines
        } else if (this.#end === undefined) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        } else if (this.#end.error === undefined) return
        else throw this.#end.error
      }
    } finally {
      this.#signal.removeEventListener('abort', wake)
    }
  }
}

/** What a line costs besides its text. */
const OVERHEAD = 48

export function charactersOf(lines: readonly LogLine[]): number {
  return lines.reduce((sum, { text }) => sum + text.length + OVERHEAD, 0)
}
