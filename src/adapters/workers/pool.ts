import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { type Workers, type WorkRefusal, WorkRefused } from './port.ts'
import type { TaskName } from './tasks.ts'
import type { Outcome, Task } from './thread.ts'

export type PoolLimits = {
  /**
   * Two at least, so that one principal's work never keeps another's waiting: each has one at a time. Started when they
   * are needed; with its parsers one takes 50 MB.
   */
  threads: number
  /** Milliseconds that a task may take once it has begun. */
  deadline: number
  /** Tasks of one principal, begun or not. */
  perPrincipal: number
  /** Tasks of all that have not begun. */
  waiting: number
  /** Milliseconds of processor time that a principal has in a minute. */
  perMinute: number
}

export const POOL_LIMITS: PoolLimits = { threads: 2, deadline: 10_000, perPrincipal: 8, waiting: 64, perMinute: 10_000 }

const MINUTE = 60_000
const PRINCIPALS_MAX = 10_000
/** What the largest batch needs, several times over. */
const HEAP_MEGABYTES = 256

type Waiting = {
  who: string
  name: Task['name']
  input: unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Thread = { worker: Worker; task: (Waiting & { id: number; timer: NodeJS.Timeout }) | undefined }

/** A few threads with a bounded queue before them. A thread that does not come back in time is ended and replaced. */
export function startWorkers(change: Partial<PoolLimits> = {}): Workers {
  const limits = { ...POOL_LIMITS, ...change }
  const threads = new Set<Thread>()
  const queue: Waiting[] = []
  const underWay = new Map<string, number>()
  const spent = new LRUCache<string, { milliseconds: number; until: number }>({ max: PRINCIPALS_MAX, ttl: MINUTE })
  let ids = 0

  function start(): Thread {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
    const thread: Thread = { worker, task: undefined }
    worker.unref()
    worker.on('message', (outcome: Outcome) => finish(thread, outcome))
    // Out of memory.
    worker.on('error', () => end(thread, 'Overdue'))
    worker.on('exit', () => end(thread, 'Overdue'))
    threads.add(thread)
    return thread
  }

  function finish(thread: Thread, { id, milliseconds, result }: Outcome): void {
    const { task } = thread
    if (task?.id !== id) return
    release(thread, milliseconds)
    if ('error' in result) task.reject(result.error)
    else task.resolve(result.value)
    next()
  }

  /** Whatever it was doing cannot be stopped otherwise. */
  function end(thread: Thread, why: WorkRefusal): void {
    if (!threads.delete(thread)) return
    const { task } = thread
    if (task !== undefined) {
      release(thread, limits.deadline)
      task.reject(new WorkRefused(why))
    }
    void thread.worker.terminate()
    next()
  }

  function release(thread: Thread, milliseconds: number): void {
    const { task } = thread
    if (task === undefined) return
    clearTimeout(task.timer)
    thread.task = undefined
    const left = (underWay.get(task.who) ?? 1) - 1
    if (left === 0) underWay.delete(task.who)
    else underWay.set(task.who, left)
    const now = performance.now()
    const known = spent.get(task.who)
    if (known !== undefined) known.milliseconds += milliseconds
    else spent.set(task.who, { milliseconds, until: now + MINUTE })
  }

  /** Begins what may begin: the oldest of a principal that has nothing begun. */
  function next(): void {
    while (queue.length > 0) {
      const busy = new Set([...threads].map(({ task }) => task?.who))
      const index = queue.findIndex(({ who }) => !busy.has(who))
      const idle = [...threads].find(({ task }) => task === undefined)
      if (index < 0 || (idle === undefined && threads.size >= limits.threads)) return
      const [waiting] = queue.splice(index, 1)
      if (waiting !== undefined) begin(idle ?? start(), waiting)
    }
  }

  function begin(thread: Thread, waiting: Waiting): void {
    ids += 1
    const timer = setTimeout(() => end(thread, 'Overdue'), limits.deadline)
    thread.task = { ...waiting, id: ids, timer }
    thread.worker.postMessage({ id: ids, name: waiting.name, input: waiting.input } satisfies Task)
  }

  function add(who: string, name: Task['name'], input: unknown): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    underWay.set(who, (underWay.get(who) ?? 0) + 1)
    queue.push({ who, name, input, resolve, reject })
    next()
    return promise
  }

  function refuse(who: string): void {
    const used = spent.get(who)
    if (used !== undefined && used.milliseconds >= limits.perMinute) {
      throw new WorkRefused('TooMany', Math.max(1, Math.ceil((used.until - performance.now()) / 1000)))
    }
    if ((underWay.get(who) ?? 0) >= limits.perPrincipal) throw new WorkRefused('TooMany')
    if (queue.length >= limits.waiting) throw new WorkRefused('Busy')
  }

  return {
    async run(name: TaskName, input: unknown, who: string) {
      refuse(who)
      return (await add(who, name, input)) as never
    },
    warm() {
      // A failure shows at the first task that needs what could not be loaded.
      if (threads.size === 0 && limits.threads > 0) add('warm', 'warm', null).catch(() => undefined)
    },
    async stop() {
      limits.threads = 0
      for (const waiting of queue.splice(0)) waiting.reject(new WorkRefused('Busy'))
      for (const thread of [...threads]) end(thread, 'Busy')
    },
  }
}
