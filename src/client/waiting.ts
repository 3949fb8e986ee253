/** The fields of any record from which waiting decides whether it has settled. */
export type Waited = {
  readonly status?: unknown
  readonly state?: unknown
  readonly phase?: unknown
  readonly statusMessage?: unknown
}

export type WaitOptions = {
  /** Whether the wanted state is reached; by default Running, Stopped, Succeeded or Ready. */
  isDone?: (record: Waited) => boolean
  /** Milliseconds; defaults to ten minutes. */
  timeout?: number
  /** Milliseconds between polls; defaults to one second. */
  interval?: number
  signal?: AbortSignal
}

const AT_REST = new Set<unknown>(['Running', 'Stopped', 'Succeeded', 'Ready'])
/** Final states in which waiting is useless. */
const FAILED = new Set<unknown>(['Failed', 'PartiallyFailed', 'TimedOut', 'Cancelled', 'Superseded'])
const TIMEOUT = 600_000
const INTERVAL = 1_000

/** The record has failed, or the timeout has passed. `record` is the last one seen. */
export class WaitError extends Error {
  readonly record: Waited | undefined
  readonly reason: 'Failed' | 'Timeout'

  constructor(reason: 'Failed' | 'Timeout', record: Waited | undefined) {
    const statusText = typeof record?.statusMessage === 'string' ? ` ${record.statusMessage}` : ''
    super(`${reason === 'Failed' ? 'It has failed.' : 'It has not come to rest in time.'}${statusText}`)
    this.name = 'WaitError'
    this.reason = reason
    this.record = record
  }
}

/**
 * Polls until the record is in the wanted state: `await waitUntil(() => client.vectorClusters.get({ path }))`.
 * @throws WaitError if it has failed or the timeout has passed; whatever `read` throws
 */
export async function waitUntil<R>(read: () => PromiseLike<R>, options: WaitOptions = {}): Promise<R> {
  const { isDone = isAtRest, timeout = TIMEOUT, interval = INTERVAL, signal } = options
  const deadline = Date.now() + timeout
  for (;;) {
    const record = await read()
    const waited = record as Waited
    if (isDone(waited)) return record
    if (FAILED.has(stageOf(waited))) throw new WaitError('Failed', waited)
    if (Date.now() + interval > deadline) throw new WaitError('Timeout', waited)
    await pause(interval, signal)
  }
}

/**
 * Polls until the record is gone: `await waitUntilGone(() => client.vectorClusters.get({ path }))`.
 * @throws WaitError if it still exists at the timeout; whatever `read` throws except 404
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

/** Most records have a `status`, rollouts a `state` and deployments a `phase`. */
const stageOf = ({ status, state, phase }: Waited) => status ?? state ?? phase
const isAtRest = (record: Waited) => AT_REST.has(stageOf(record))

/** Waits for so many milliseconds. @throws the reason of the signal */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    if (signal?.aborted) return failed(signal.reason)
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      done()
    }, milliseconds)
    const onAbort = () => {
      clearTimeout(timer)
      failed(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
