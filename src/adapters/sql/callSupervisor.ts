import { ANSWER_MAX_BYTES, ANSWERS_MAX_BYTES, tooLarge } from './answerLimiter.ts'
import type { SqlSession } from './driver.ts'
import { type SqlCall, SqlFault } from './port.ts'

/** Milliseconds between checks of an answer's length. What arrives in between is small compared with the limit. */
const LENGTH_CHECK_INTERVAL_MS = 20

/** Supervises one call on a session. */
export type CallSupervisor = {
  /** Rejects with the fault for which the session was ended. */
  readonly ended: Promise<never>
  /** Checks the length before a commit: a call that fails must leave no change. @throws SqlFault TooLarge */
  refuse(): void
  stop(): void
}

/** The length of each answer that is being read, over all engines, because they share the memory of the process. */
const OPEN_ANSWERS = new Set<() => number>()

/** If all answers together are too long, only the longest one fails. */
function exceedsTotal(length: number): boolean {
  const lengths = [...OPEN_ANSWERS].map((each) => each())
  return lengths.reduce((sum, each) => sum + each, 0) > ANSWERS_MAX_BYTES && length === Math.max(...lengths)
}

/** Ends a session if its call is aborted, its answer gets too long, or it takes longer than `timeout`. */
export function superviseCall(session: SqlSession, { signal, timeout }: SqlCall & { timeout: number }): CallSupervisor {
  const ended = Promise.withResolvers<never>()
  const before = session.bytesRead
  const length = () => session.bytesRead - before
  const isOver = () => length() > ANSWER_MAX_BYTES
  const end = (fault: SqlFault, how: 'cancel' | 'destroy') => {
    stop()
    ended.reject(fault)
    session[how]()
  }
  const onAbort = () => end(cancelled(), 'cancel')
  const deadline = setTimeout(
    () => end(new SqlFault('Timeout', 'The engine did not finish in time.'), 'destroy'),
    timeout,
  )
  const poll = setInterval(() => {
    if (isOver()) end(tooLarge(), 'destroy')
    else if (exceedsTotal(length())) end(totalTooLarge(), 'destroy')
  }, LENGTH_CHECK_INTERVAL_MS)
  OPEN_ANSWERS.add(length)
  const stop = () => {
    OPEN_ANSWERS.delete(length)
    clearTimeout(deadline)
    clearInterval(poll)
    signal?.removeEventListener('abort', onAbort)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  return {
    ended: ended.promise,
    refuse: () => {
      if (isOver()) throw tooLarge()
    },
    stop,
  }
}

function totalTooLarge(): SqlFault {
  return new SqlFault('TooLarge', 'Databases answer too much at once: try again, or ask for fewer rows.')
}

export function cancelled(): SqlFault {
  return new SqlFault('Cancelled', 'The client disconnected.')
}
