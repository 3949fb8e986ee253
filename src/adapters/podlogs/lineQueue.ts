import { isAfter, type LogLine } from '../../contracts/logs.ts'

/** Lines buffered for one reader. */
export class LineQueue {
  readonly #onDrained: () => void
  readonly #signal: AbortSignal
  #batches: (readonly LogLine[])[] = []
  #characters = 0
  #dropUntil: string | undefined
  #end: { error?: unknown } | undefined
  #wake: () => void = () => {}

  /** @param signal ends reading without an error */
  constructor(signal: AbortSignal, onDrained: () => void) {
    this.#signal = signal
    this.#onDrained = onDrained
  }

  /** Number of buffered characters. */
  get characters(): number {
    return this.#end === undefined && !this.#signal.aborted ? this.#characters : 0
  }

  push(lines: readonly LogLine[]): void {
    if (this.#end !== undefined) return
    this.#batches.push(lines)
    this.#characters += charactersOf(lines)
    this.#wake()
  }

  /** Drops lines up to this time. */
  dropUntil(time: string | undefined): void {
    this.#dropUntil = time
  }

  /** Ends the queue. Buffered lines are still delivered. */
  end(): void {
    this.#end ??= {}
    this.#wake()
  }

  /** Fails the queue. Buffered lines are discarded. */
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

/** Memory per line besides its text. */
const OVERHEAD = 48

export function charactersOf(lines: readonly LogLine[]): number {
  return lines.reduce((sum, { text }) => sum + text.length + OVERHEAD, 0)
}
