import type { SqlSession } from './driver.ts'
import { ANSWER_MAX_BYTES, tooLarge } from './leash.ts'
import { type SqlCall, SqlFault } from './port.ts'

/** Milliseconds between looks at how long an answer is; what comes in meanwhile is little beside the bound. */
const LOOK_AT_LENGTH = 20

/** Who uses a session for one call, and how long what the engine says may get. */
export type Watch = {
  /** Fails with the fault for which the session was ended. */
  readonly ended: Promise<never>
  /** Before what was asked for is committed: nothing stays of what is not answered. @throws SqlFault TooLarge */
  refuse(): void
  stop(): void
}

/** Ends a session that nobody waits for any more, or whose engine says more or takes longer than one answer may. */
export function watchOver(session: SqlSession, { signal, patience }: SqlCall & { patience: number }): Watch {
  const ended = Promise.withResolvers<never>()
  const before = session.bytesRead
  const isOver = () => session.bytesRead - before > ANSWER_MAX_BYTES
  const end = (fault: SqlFault, how: 'cancel' | 'destroy') => {
    stop()
    ended.reject(fault)
    session[how]()
  }
  const onAbort = () => end(cancelled(), 'cancel')
  const late = setTimeout(() => end(new SqlFault('Timeout', 'The engine did not finish in time.'), 'destroy'), patience)
  const look = setInterval(() => {
    if (isOver()) end(tooLarge(), 'destroy')
  }, LOOK_AT_LENGTH)
  const stop = () => {
    clearTimeout(late)
    clearInterval(look)
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

export function cancelled(): SqlFault {
  return new SqlFault('Cancelled', 'The client disconnected.')
}
