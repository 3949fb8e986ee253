import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { TestAnswer, TestCall } from '../../contracts/testCalls.ts'
import type { Calls } from './port.ts'

/** What an activator of this process does, for functions by key. */
export type CallsHere = {
  of(key: string): CountedCalls
  call(key: string, call: TestCall, gone: AbortSignal): Promise<TestAnswer>
}

/** @param here the activator of this process; undefined as long as it does not work */
export function sameProcessCalls(here: () => CallsHere | undefined): Calls {
  return {
    of: async (namespace, name) => here()?.of(`${namespace}/${name}`),
    call: async (namespace, name, call, gone) => here()?.call(`${namespace}/${name}`, call, gone),
  }
}
