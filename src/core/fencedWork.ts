import { AsyncLocalStorage } from 'node:async_hooks'

const fences = new AsyncLocalStorage<() => void>()

/**
 * Work within fenced work has both fences.
 *
 * @param fence called before every write of the work to an API server; what it throws is the outcome, and nothing is sent
 */
export function fencedBy<Result>(fence: () => void, work: () => Result): Result {
  const around = fences.getStore()
  const both = () => {
    around?.()
    fence()
  }
  return fences.run(both, work)
}

/** @throws what the fence of the current work throws */
export function checkFence(): void {
  fences.getStore()?.()
}
