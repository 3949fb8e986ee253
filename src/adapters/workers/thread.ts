import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { TASKS } from './tasks.ts'

export type Task = { id: number; name: keyof typeof TASKS; input: unknown }
export type Outcome = {
  id: number
  /** Milliseconds of processor time. */
  milliseconds: number
  result: { value: unknown } | { error: unknown }
}

const NICE = 10

/** The thread that answers requests goes first if there are too few processors. Linux knows threads by number. */
function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICE)
  } catch {
    // Elsewhere all threads of a process have the same priority.
  }
}

const processorTime = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

giveWay()
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
