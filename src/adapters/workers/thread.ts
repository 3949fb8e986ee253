import { parentPort } from 'node:worker_threads'
import { TASKS } from './tasks.ts'
import { lowerThreadPriority } from './threadPriority.ts'

export type Task = { id: number; name: keyof typeof TASKS; input: unknown }
export type Outcome = {
  id: number
  /** CPU time in milliseconds. */
  milliseconds: number
  result: { value: unknown } | { error: unknown }
}

const processorTime = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

lowerThreadPriority()
parentPort?.on('message', async ({ id, name, input }: Task) => {
  const began = processorTime()
  const work = TASKS[name] as (given: unknown) => unknown
  let result: Outcome['result']
  try {
    result = { value: await work(input) }
  } catch (error) {
    result = { error }
  }
  parentPort?.postMessage({ id, milliseconds: processorTime() - began, result } satisfies Outcome)
})
