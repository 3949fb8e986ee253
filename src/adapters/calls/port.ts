import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { TestAnswer, TestCall } from '../../contracts/testCalls.ts'

/** Call counts from the activator. */
export interface CallFigures {
  /**
   * Returns the counts of the function with this object name; undefined if they are not available now. Never rejects:
   * figures are shown if they are there, and nothing depends on them.
   */
  of(namespace: string, name: string): Promise<CountedCalls | undefined>
}

/** Test calls of functions, which the facade makes through the activator. */
export interface TestCalls {
  /**
   * Calls the function with this object name. Returns undefined without a valid answer of an activator. Never rejects.
   *
   * @param signal aborted when the caller has gone, which ends the call
   */
  call(namespace: string, name: string, call: TestCall, signal: AbortSignal): Promise<TestAnswer | undefined>
}

/** The connection to the activator. */
export type ActivatorClient = CallFigures & TestCalls
