import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { TestAnswer, TestCall } from '../../contracts/testCalls.ts'
import type { ActivatorClient } from './port.ts'

/** The activator of this process, with functions by key `namespace/name`. */
export type LocalActivator = {
  of(key: string): CountedCalls
  call(key: string, call: TestCall, signal: AbortSignal): Promise<TestAnswer>
}

/** @param activator returns the activator of this process; undefined until it runs */
export function localActivatorClient(activator: () => LocalActivator | undefined): ActivatorClient {
  return {
    of: async (namespace, name) => activator()?.of(`${namespace}/${name}`),
    call: async (namespace, name, call, signal) => activator()?.call(`${namespace}/${name}`, call, signal),
  }
}
