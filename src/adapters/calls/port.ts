import type { CountedCalls } from '../../contracts/functionCalls.ts'

/** What the activator counted of calls. */
export interface CallFigures {
  /**
   * Of the function with this object name. Undefined if it cannot be learnt now: nobody counts, or whoever does gives no
   * answer in time. It never rejects: figures are shown where they are there, and nothing depends on them.
   */
  of(namespace: string, name: string): Promise<CountedCalls | undefined>
}
