import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes after collecting all garbage: objects that a WeakRef has returned live until the end of their task. */
export async function heapUsed(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
