import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes, once everything that nobody holds is gone: what a WeakRef has shown lives until the end of its task. */
export async function heapUsed(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
