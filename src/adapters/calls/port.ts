import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { TestAnswer, TestCall } from '../../contracts/testCalls.ts'

/** What the activator counted of calls. */
export interface CallFigures {
  /**
   * Of the function with this object name. Undefined if it cannot be learnt now: nobody counts, or whoever does gives no
   * answer in time. It never rejects: figures are shown where they are there, and nothing depends on them.
   */
  of(namespace: string, name: string): Promise<CountedCalls | undefined>
}

/** Calls of functions that the facade makes for somebody, through the activator. */
export interface TestCalls {
  /**
   * Of the function with this object name. Undefined if no activator takes it, or what it answers is no answer. It never rejects.
   *
   * @param gone aborted when nobody waits for the answer any more: then the call ends
   */
  call(namespace: string, name: string, call: TestCall, gone: AbortSignal): Promise<TestAnswer | undefined>
}

/** The way to the activator. */
export type Calls = CallFigures & TestCalls
