import { setImmediate } from 'node:timers/promises'

/** Work that is cut: at each cut others may have their turn. */
export type Sliced<Result> = Generator<undefined, Result, undefined>

/** Milliseconds, after which the next cut is one. */
const SLICE = 4

/** For whoever keeps nobody waiting. */
export function atOnce<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** What is done soon is done at once. */
export async function inSlices<Result>(work: Sliced<Result>, now = () => performance.now()): Promise<Result> {
  let began = now()
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    if (now() - began < SLICE) continue
    await setImmediate()
    began = now()
  }
}
