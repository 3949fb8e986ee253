import type { Workers } from './port.ts'
import { TASKS } from './tasks.ts'

/** Runs tasks in the caller's thread, without limits. For tests. */
export const inlineWorkers: Workers = {
  async run(name, input) {
    const task = TASKS[name] as (given: typeof input) => unknown
    return (await task(input)) as never
  },
  warm: () => undefined,
  stop: async () => undefined,
}
