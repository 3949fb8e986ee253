import { availableParallelism } from 'node:os'

/** The machine's cores; a waiting part makes room for another even if there is only one. */
export const CORES = Math.max(2, availableParallelism())

/** Sums of tenths are not exact. */
const ROUNDING = 1e-9

/** A part of a run that needs `weight` processor cores for most of its time. */
export type Work = { weight: number; run: () => Promise<void> }

/**
 * Runs all parts, as many at once as there are cores for; at least one. Parts start in order, but a lighter one
 * overtakes one that does not fit yet, so that no core is idle. After an abort none starts.
 *
 * @throws the error of the first part that failed, after all have ended
 */
export async function runSideBySide(works: readonly Work[], cores: number, signal?: AbortSignal): Promise<void> {
  const waiting = [...works]
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  let usedCores = 0
  const begin = ({ weight, run }: Work) => {
    usedCores += weight
    const running: Promise<void> = run()
      .catch((error: unknown) => void failures.push(error))
      .then(() => {
        usedCores -= weight
        underWay.delete(running)
      })
    underWay.add(running)
  }
  const isLeft = () => waiting.length > 0 && signal?.aborted !== true
  while (isLeft() || underWay.size > 0) {
    const next = waiting.findIndex(
      ({ weight }) => (isLeft() && usedCores + weight <= cores + ROUNDING) || underWay.size === 0,
    )
    const [work] = next < 0 ? [] : waiting.splice(next, 1)
    if (work === undefined) await Promise.race(underWay)
    else begin(work)
  }
  if (failures.length > 0) throw failures[0]
}
