import type { SqlSession } from './driver.ts'
import { ANSWER_MAX_BYTES, ANSWERS_MAX_BYTES, tooLarge } from './leash.ts'
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

/** How long each answer is that is being read, whichever engine gives it: the memory is that of the process. */
const READ_NOW = new Set<() => number>()

/** Of too much at once the longest answer goes, and those that ask for little hear nothing of it. */
function isOneTooMany(length: number): boolean {
  const lengths = [...READ_NOW].map((each) => each())
  return lengths.reduce((sum, each) => sum + each, 0) > ANSWERS_MAX_BYTES && length === Math.max(...lengths)
}

/** Ends a session that nobody waits for any more, or whose engine says more or takes longer than one answer may. */
export function watchOver(session: SqlSession, { signal, patience }: SqlCall & { patience: number }): Watch {
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
  const late = setTimeout(() => end(new SqlFault('Timeout', 'The engine did not finish in time.'), 'destroy'), patience)
  const look = setInterval(() => {
    if (isOver()) end(tooLarge(), 'destroy')
    else if (isOneTooMany(length())) end(tooLargeNow(), 'destroy')
  }, LOOK_AT_LENGTH)
  READ_NOW.add(length)
  const stop = () => {
    READ_NOW.delete(length)
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

function tooLargeNow(): SqlFault {
  return new SqlFault('TooLarge', 'Databases answer too much at once: try again, or ask for fewer rows.')
}

export function cancelled(): SqlFault {
  return new SqlFault('Cancelled', 'The client disconnected.')
}
