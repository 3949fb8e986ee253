/** Work that is cut: at each cut others may have their turn. */
export type Sliced<Result> = Generator<undefined, Result, undefined>

/** Milliseconds, after which the next cut is one. */
const SLICE = 4

/** For work that delays nobody. */
export function atOnce<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** What is made of each, with a cut after each. */
export function* eachSliced<Given, Made>(given: readonly Given[], make: (one: Given) => Made): Sliced<Made[]> {
  const made: Made[] = []
  for (const one of given) {
    made.push(make(one))
    yield
  }
  return made
}

/** Work that waits for its next slice. */
const line: (() => void)[] = []

/** Waits for a turn. Only one job runs a slice between two turns of others; a slice of each job would delay them. */
function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (line.push(resolve) === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  const next = line[0]
  next?.()
  // Only now: what asks again meanwhile comes after those that wait.
  setImmediate(() => {
    line.shift()
    if (line.length > 0) giveTurn()
  })
}

/** Short work is finished at once if nothing waits for a turn. */
export async function inSlices<Result>(work: Sliced<Result>, now?: () => number): Promise<Result> {
  if (line.length > 0) await ownTurn()
  const pause = pausing(now)
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    const paused = pause()
    if (paused !== undefined) await paused
  }
}

/** The same for work that waits for other things as well: it asks for a pause between its steps. */
export function pausing(now = () => performance.now()): () => Promise<void> | undefined {
  let began = now()
  return () => {
    if (now() - began < SLICE) return undefined
    return ownTurn().then(() => {
      began = now()
    })
  }
}
