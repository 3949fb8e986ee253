import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { TestAnswer, TestCall } from '../../contracts/testCalls.ts'
import type { Calls } from './port.ts'

/** The activator of this process, with functions by key `namespace/name`. */
export type CallsHere = {
  of(key: string): CountedCalls
  call(key: string, call: TestCall, gone: AbortSignal): Promise<TestAnswer>
}

/** @param here returns the activator of this process; undefined until it runs */
export function sameProcessCalls(here: () => CallsHere | undefined): Calls {
  return {
    of: async (namespace, name) => here()?.of(`${namespace}/${name}`),
    call: async (namespace, name, call, gone) => here()?.call(`${namespace}/${name}`, call, gone),
  }
}
