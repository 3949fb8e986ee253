import { KeyedMutex } from './keyedMutex.ts'

/** Returns what one request is answered, or throws why it is not. */
export type Answered<Answer> = () => Answer

/**
 * Works on one batch at a time per key: what is requested while an earlier batch is in progress is answered together by
 * the next one. For writes of one object by many, of which each would otherwise wait for all before it.
 *
 * A batch runs in the asynchronous context of its first request.
 */
export class KeyedBatches<Request, Answer> {
  readonly #turns = new KeyedMutex()
  readonly #waiting = new Map<string, { requests: Request[]; answers: Promise<readonly Answered<Answer>[]> }>()
  readonly #work: (key: string, requests: readonly Request[]) => Promise<readonly Answered<Answer>[]>

  /** @param work answers in the order of the requests; if it throws, all of them fail */
  constructor(work: (key: string, requests: readonly Request[]) => Promise<readonly Answered<Answer>[]>) {
    this.#work = work
  }

  async ask(key: string, request: Request): Promise<Answer> {
    const batch = this.#waiting.get(key) ?? this.#begin(key)
    const index = batch.requests.push(request) - 1
    const answered = (await batch.answers)[index]
    if (answered === undefined) throw new RangeError(`The batch of "${key}" has no answer number ${index}.`)
    return answered()
  }

  #begin(key: string) {
    const requests: Request[] = []
    const answers = this.#turns.take(key, () => {
      this.#waiting.delete(key)
      return this.#work(key, requests)
    })
    const batch = { requests, answers }
    this.#waiting.set(key, batch)
    return batch
  }
}
