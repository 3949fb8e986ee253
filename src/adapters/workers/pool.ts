import { Worker } from 'node:worker_threads'
import { createLruCache } from '../../core/lruCache.ts'
import { type Workers, type WorkRefusal, WorkRefused } from './port.ts'
import type { TaskName } from './tasks.ts'
import type { Outcome, Task } from './thread.ts'

export type PoolLimits = {
  /**
   * At least two: each principal has one task at a time, so no principal can block the others. Threads start on demand;
   * with its parsers each takes 50 MB.
   */
  threads: number
  /** Milliseconds that a started task may take. */
  deadline: number
  /** Tasks per principal, running or waiting. */
  perPrincipal: number
  /** Waiting tasks of all principals. */
  waiting: number
  /** Milliseconds of CPU time per principal and minute. */
  perMinute: number
}

export const POOL_LIMITS: PoolLimits = { threads: 2, deadline: 10_000, perPrincipal: 8, waiting: 64, perMinute: 10_000 }

const MINUTE_MS = 60_000
const PRINCIPALS_MAX = 10_000
/** Several times what the largest batch needs. */
const HEAP_MEGABYTES = 256

type Waiting = {
  principalId: string
  name: Task['name']
  input: unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Thread = { worker: Worker; task: (Waiting & { id: number; timer: NodeJS.Timeout }) | undefined }

/** Starts a thread pool with a bounded queue. A thread that misses its deadline is terminated and replaced. */
export function startWorkers(change: Partial<PoolLimits> = {}): Workers {
  return new Pool({ ...POOL_LIMITS, ...change })
}

class Pool implements Workers {
  readonly #limits: PoolLimits
  readonly #use: ReturnType<typeof usePerPrincipal>
  readonly #threads = new Set<Thread>()
  readonly #queue: Waiting[] = []
  #ids = 0

  constructor(limits: PoolLimits) {
    this.#limits = limits
    this.#use = usePerPrincipal(limits)
  }

  async run(name: TaskName, input: unknown, principalId: string) {
    this.#use.refuse(principalId)
    if (this.#queue.length >= this.#limits.waiting) throw new WorkRefused('Busy')
    return (await this.#add(principalId, name, input)) as never
  }

  warm(): void {
    // A failure surfaces with the first task that needs the missing module.
    if (this.#threads.size === 0 && this.#limits.threads > 0) this.#add('warm', 'warm', null).catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#limits.threads = 0
    for (const waiting of this.#queue.splice(0)) waiting.reject(new WorkRefused('Busy'))
    for (const thread of [...this.#threads]) this.#stopThread(thread, 'Busy')
  }

  #add(principalId: string, name: Task['name'], input: unknown): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#use.added(principalId)
    this.#queue.push({ principalId, name, input, resolve, reject })
    this.#startWaiting()
    return promise
  }

  /** Starts waiting tasks, oldest first, of principals that have none running. */
  #startWaiting(): void {
    while (this.#queue.length > 0) {
      const threads = [...this.#threads]
      const busy = new Set(threads.map(({ task }) => task?.principalId))
      const index = this.#queue.findIndex(({ principalId }) => !busy.has(principalId))
      const idle = threads.find(({ task }) => task === undefined)
      if (index < 0 || (idle === undefined && threads.length >= this.#limits.threads)) return
      const [waiting] = this.#queue.splice(index, 1)
      if (waiting !== undefined) this.#runTask(idle ?? this.#startThread(), waiting)
    }
  }

  #startThread(): Thread {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
    const thread: Thread = { worker, task: undefined }
    worker.unref()
    worker.on('message', (outcome: Outcome) => this.#finish(thread, outcome))
    // The thread ran out of memory.
    worker.on('error', () => this.#stopThread(thread, 'Overdue'))
    worker.on('exit', () => this.#stopThread(thread, 'Overdue'))
    this.#threads.add(thread)
    return thread
  }

  #runTask(thread: Thread, waiting: Waiting): void {
    this.#ids += 1
    const timer = setTimeout(() => this.#stopThread(thread, 'Overdue'), this.#limits.deadline)
    thread.task = { ...waiting, id: this.#ids, timer }
    thread.worker.postMessage({ id: this.#ids, name: waiting.name, input: waiting.input } satisfies Task)
  }

  #finish(thread: Thread, { id, milliseconds, result }: Outcome): void {
    const { task } = thread
    if (task?.id !== id) return
    this.#release(thread, milliseconds)
    if ('error' in result) task.reject(result.error)
    else task.resolve(result.value)
    this.#startWaiting()
  }

  /** Terminates the thread: a running task cannot be stopped otherwise. */
  #stopThread(thread: Thread, why: WorkRefusal): void {
    if (!this.#threads.delete(thread)) return
    const { task } = thread
    if (task !== undefined) {
      this.#release(thread, this.#limits.deadline)
      task.reject(new WorkRefused(why))
    }
    void thread.worker.terminate()
    this.#startWaiting()
  }

  #release(thread: Thread, milliseconds: number): void {
    const { task } = thread
    if (task === undefined) return
    clearTimeout(task.timer)
    thread.task = undefined
    this.#use.ended(task.principalId, milliseconds)
  }
}

/** Tracks each principal's tasks, and CPU time in the current minute. */
function usePerPrincipal({ perMinute, perPrincipal }: PoolLimits) {
  const underWay = new Map<string, number>()
  const spent = createLruCache<string, { milliseconds: number; until: number }>(PRINCIPALS_MAX, MINUTE_MS)
  return {
    /** @throws WorkRefused TooMany */
    refuse(principalId: string): void {
      const used = spent.get(principalId)
      if (used !== undefined && used.milliseconds >= perMinute) {
        throw new WorkRefused('TooMany', Math.max(1, Math.ceil((used.until - performance.now()) / 1000)))
      }
      if ((underWay.get(principalId) ?? 0) >= perPrincipal) throw new WorkRefused('TooMany')
    },
    added(principalId: string): void {
      underWay.set(principalId, (underWay.get(principalId) ?? 0) + 1)
    },
    ended(principalId: string, milliseconds: number): void {
      const left = (underWay.get(principalId) ?? 1) - 1
      if (left === 0) underWay.delete(principalId)
      else underWay.set(principalId, left)
      const known = spent.get(principalId)
      if (known !== undefined) known.milliseconds += milliseconds
      else spent.set(principalId, { milliseconds, until: performance.now() + MINUTE_MS })
    },
  }
}
