import { appendFile, rename, stat } from 'node:fs/promises'
import { rotatedLogPath } from '../../src/adapters/objectstorage/accessLog.ts'

type Waiting = { line: string; done: () => void; fail: (error: unknown) => void }

/**
 * Appends lines to a private file in order. Lines that arrive during a write go into the next write together. A full
 * file replaces the older one.
 */
export class AccessFile {
  #waiting: Waiting[] = []
  #isWriting = false
  /** Another process, or a failed write, may have left an incomplete line. */
  #isWhole = false
  readonly #path: string
  readonly #fileBytes: number

  constructor(path: string, fileBytes: number) {
    this.#path = path
    this.#fileBytes = fileBytes
  }

  /** Resolves when the operating system has the line: it survives this process, but not a power failure. */
  append(line: string): Promise<void> {
    return new Promise((done, fail) => {
      this.#waiting.push({ line, done, fail })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const pendingLines = this.#waiting
      this.#waiting = []
      try {
        await this.#write(pendingLines.map(({ line }) => `${line}\n`).join(''))
        for (const { done } of pendingLines) done()
      } catch (error) {
        this.#isWhole = false
        for (const { fail } of pendingLines) fail(error)
      }
    }
    this.#isWriting = false
  }

  async #write(lines: string): Promise<void> {
    const { size } = await stat(this.#path).catch(() => ({ size: 0 }))
    if (size > 0 && size + Buffer.byteLength(lines) > this.#fileBytes)
      await rename(this.#path, rotatedLogPath(this.#path))
    await appendFile(this.#path, this.#isWhole ? lines : `\n${lines}`, { mode: 0o600 })
    this.#isWhole = true
  }
}
