import { Worker } from 'node:worker_threads'
import { ArchiveRefusedError } from '../../../contracts/builds/archive.ts'
import { KeyedSemaphore } from '../../../core/keyedSemaphore.ts'
import type { FromThread, ToThread } from './messages.ts'
import { type ArchiveReader, type ArchiveSink, type ArchiveSummary, ReaderGone } from './port.ts'

/** Bytes of one archive that may be in flight to the thread. */
const IN_FLIGHT_MAX_BYTES = 256 * 1024
/** Archives that are read at once per sender. */
const MAX_READS_PER_SENDER = 4
/** Enough for the paths of the largest archives that may come at once. Exceeding it ends only the thread. */
const HEAP_MEGABYTES = 512

/** Starts the thread with the first archive, and a new one after a thread has died, for example of memory shortage. */
export function threadedReader(): ArchiveReader {
  return new ThreadedReader()
}

class ThreadedReader implements ArchiveReader {
  readonly #readings = new Map<number, Reading>()
  readonly #slots = new KeyedSemaphore(MAX_READS_PER_SENDER)
  #worker: Worker | undefined
  #ids = 0

  async begin(sender: string, signal?: AbortSignal): Promise<ArchiveSink> {
    const release = await this.#slots.take(sender, signal)
    this.#ids += 1
    const id = this.#ids
    this.#worker ??= this.#start()
    const worker = this.#worker
    const reading = new Reading(id, (message, transferred) => worker.postMessage(message, transferred))
    this.#readings.set(id, reading)
    worker.ref()
    const finish = () => {
      this.#readings.delete(id)
      if (this.#readings.size === 0) worker.unref()
      release()
    }
    reading.read.then(finish, finish)
    return reading
  }

  #start(): Worker {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
    worker.on('message', (message: FromThread) => this.#readings.get(message.id)?.receive(message))
    const leave = () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const reading of this.#readings.values())
        reading.fail(new ReaderGone('The reader of the archive has ended.'))
    }
    worker.on('error', leave).on('exit', leave)
    return worker
  }
}

class Reading implements ArchiveSink {
  readonly read: Promise<ArchiveSummary>
  readonly #id: number
  readonly #send: (message: ToThread, transferred: ArrayBuffer[]) => void
  readonly #outcome = Promise.withResolvers<ArchiveSummary>()
  #isOver = false
  #inFlightBytes = 0
  #drained: PromiseWithResolvers<void> | undefined

  constructor(id: number, send: (message: ToThread, transferred: ArrayBuffer[]) => void) {
    this.#id = id
    this.#send = send
    send({ id, now: 'begin' }, [])
    this.read = this.#outcome.promise
    // Avoids an unhandled rejection if no caller waits for the result.
    this.read.catch(() => {})
  }

  take(piece: Uint8Array): Promise<void> | undefined {
    if (this.#isOver) throw new Error('The archive is not read to its end.')
    // A piece is often a view of a larger buffer, all of which would be transferred.
    const copy = new Uint8Array(piece)
    this.#inFlightBytes += copy.length
    this.#send({ id: this.#id, piece: copy }, [copy.buffer])
    if (this.#inFlightBytes < IN_FLIGHT_MAX_BYTES) return undefined
    this.#drained ??= Promise.withResolvers()
    return this.#drained.promise
  }

  end(): void {
    if (!this.#isOver) this.#send({ id: this.#id, now: 'end' }, [])
  }

  cut(): void {
    if (this.#isOver) return
    this.#send({ id: this.#id, now: 'cut' }, [])
    this.fail(new Error('Nobody waits for the archive any longer.'))
  }

  receive(message: FromThread): void {
    if ('taken' in message) {
      this.#inFlightBytes -= message.taken
      if (this.#inFlightBytes < IN_FLIGHT_MAX_BYTES) this.#resume()
    } else if ('read' in message) this.#finish(() => this.#outcome.resolve(message.read))
    else this.fail('refused' in message ? new ArchiveRefusedError(message.refused) : new Error(message.failed))
  }

  fail(error: Error): void {
    this.#finish(() => this.#outcome.reject(error))
  }

  #finish(settle: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    settle()
    this.#resume()
  }

  #resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}
