import { AsyncLocalStorage } from 'node:async_hooks'

const fences = new AsyncLocalStorage<() => void>()

/**
 * Runs work behind a fence. Nested work is checked by the fences of both.
 *
 * @param fence called before every write of the work to an API server; if it throws, the write fails unsent
 */
export function runFenced<Result>(fence: () => void, work: () => Result): Result {
  const outerFence = fences.getStore()
  const both = () => {
    outerFence?.()
    fence()
  }
  return fences.run(both, work)
}

/** @throws what the fence of the current work throws */
export function checkFence(): void {
  fences.getStore()?.()
}
