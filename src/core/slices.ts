/** Work that yields between its pieces, so that other work can run. */
export type SlicedWork<Result> = Generator<undefined, Result, undefined>

/** Milliseconds of work after which the next yield pauses. */
const SLICE_MS = 4

/** Runs work without pauses, for where it delays nobody. */
export function runUnsliced<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** Maps a list, with a yield after each item. */
export function* mapSliced<Given, Made>(given: readonly Given[], make: (one: Given) => Made): SlicedWork<Made[]> {
  const made: Made[] = []
  for (const one of given) {
    made.push(make(one))
    yield
  }
  return made
}

/** Jobs that wait for their next slice. */
const queue: (() => void)[] = []

/** Waits for a turn. One job runs a slice per round of the event loop; a slice of every job would delay the rest. */
function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (queue.push(resolve) === 1) setImmediate(runNext)
  })
}

function runNext(): void {
  const next = queue[0]
  next?.()
  // Only after the slice: a job that asks again during it queues behind those that wait.
  setImmediate(() => {
    queue.shift()
    if (queue.length > 0) runNext()
  })
}

/** Runs work in slices. Short work finishes at once if nothing waits for a turn. */
export async function runInSlices<Result>(work: SlicedWork<Result>, now?: () => number): Promise<Result> {
  if (queue.length > 0) await waitForTurn()
  const pause = createPauser(now)
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    const paused = pause()
    if (paused !== undefined) await paused
  }
}

/** For work that also waits for other things: returns a function to call between its steps, which pauses if needed. */
export function createPauser(now = () => performance.now()): () => Promise<void> | undefined {
  let began = now()
  return () => {
    if (now() - began < SLICE_MS) return undefined
    return waitForTurn().then(() => {
      began = now()
    })
  }
}
