/** What a waiter reads: any record of the platform that has come to rest or not. */
export type Waited = {
  readonly status?: unknown
  readonly state?: unknown
  readonly phase?: unknown
  readonly statusMessage?: unknown
}

export type WaitOptions = {
  /** When it is what you want; by default when it is Running, Stopped or Succeeded. */
  isDone?: (record: Waited) => boolean
  /** Milliseconds; ten minutes. */
  timeout?: number
  /** Milliseconds between two looks; one second. */
  interval?: number
  signal?: AbortSignal
}

const AT_REST = new Set<unknown>(['Running', 'Stopped', 'Succeeded', 'Ready'])
/** Ends after which nothing else comes. */
const FAILED = new Set<unknown>(['Failed', 'PartiallyFailed', 'TimedOut', 'Cancelled', 'Superseded'])
const TIMEOUT = 600_000
const INTERVAL = 1_000

/** It has failed, or the time is up. `record` is what was seen last. */
export class WaitError extends Error {
  readonly record: Waited | undefined
  readonly reason: 'Failed' | 'Timeout'

  constructor(reason: 'Failed' | 'Timeout', record: Waited | undefined) {
    const said = typeof record?.statusMessage === 'string' ? ` ${record.statusMessage}` : ''
    super(`${reason === 'Failed' ? 'It has failed.' : 'It has not come to rest in time.'}${said}`)
    this.name = 'WaitError'
    this.reason = reason
    this.record = record
  }
}

/**
 * Reads again and again until what was asked for is there:
 * `await waitUntil(() => client.vectorClusters.get({ path }))`.
 *
 * @throws WaitError where it has failed, or was not there in time; whatever `read` throws
 */
export async function waitUntil<R>(read: () => PromiseLike<R>, options: WaitOptions = {}): Promise<R> {
  const { isDone = isAtRest, timeout = TIMEOUT, interval = INTERVAL, signal } = options
  const deadline = Date.now() + timeout
  for (;;) {
    const record = await read()
    const seen = record as Waited
    if (isDone(seen)) return record
    if (FAILED.has(stageOf(seen))) throw new WaitError('Failed', seen)
    if (Date.now() + interval > deadline) throw new WaitError('Timeout', seen)
    await pause(interval, signal)
  }
}

/**
 * Reads again and again until what was deleted is gone: `await waitUntilGone(() => client.vectorClusters.get({ path }))`.
 *
 * @throws WaitError where it was still there in time; whatever `read` throws, but for 404
 */
export async function waitUntilGone(
  read: () => PromiseLike<unknown>,
  { timeout = TIMEOUT, interval = INTERVAL, signal }: Omit<WaitOptions, 'isDone'> = {},
): Promise<void> {
  const deadline = Date.now() + timeout
  for (;;) {
    try {
      const record = await read()
      if (Date.now() + interval > deadline) throw new WaitError('Timeout', record as Waited)
    } catch (error) {
      if ((error as { status?: unknown }).status === 404) return
      throw error
    }
    await pause(interval, signal)
  }
}

/** What most records call their status, rollouts their state and deployments their phase. */
const stageOf = ({ status, state, phase }: Waited) => status ?? state ?? phase
const isAtRest = (record: Waited) => AT_REST.has(stageOf(record))

/** Milliseconds. @throws the reason of the signal */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    if (signal?.aborted) return failed(signal.reason)
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      done()
    }, milliseconds)
    const end = () => {
      clearTimeout(timer)
      failed(signal?.reason)
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}
