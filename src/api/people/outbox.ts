import type { Mail, Mailer } from '../../adapters/mail/port.ts'
import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'

const WAITING_MAX = 1000
const ATTEMPTS_MAX = 4
const FIRST_RETRY_DELAY_MS = 2_000

/** Work that continues after the response, one piece at a time. Work lost with the process is not repeated. */
export interface Outbox {
  /** False if mails cannot be sent: links are then shown to their creators. */
  readonly isConfigured: boolean
  send(mail: Mail): void
  /** False if the queue is full: the work is dropped. */
  later(what: string, work: () => Promise<void>): boolean
  /** Resolves when the queue is empty. */
  whenIdle(): Promise<void>
  stop(): Promise<void>
}

type OutboxOptions = { mailer: Mailer | undefined; log: Log; clock: Clock }

export function createOutbox({ mailer, log, clock }: OutboxOptions): Outbox {
  let waiting = 0
  let isStopped = false
  let tail: Promise<void> = Promise.resolve()

  function later(what: string, work: () => Promise<void>): boolean {
    if (waiting >= WAITING_MAX || isStopped) {
      log.warn({ what, waiting }, 'Too much work waits after the answers: this piece is dropped.')
      return false
    }
    waiting += 1
    tail = tail.then(async () => {
      try {
        if (!isStopped) await work()
      } catch (error) {
        log.error({ what, reason: messageOf(error) }, 'Work after an answer failed.')
      } finally {
        waiting -= 1
      }
    })
    return true
  }

  /** A failed mail goes to the end of the queue after a pause, so that it delays no other. */
  function attempt(mail: Mail, number: number): void {
    later('mail', async () => {
      try {
        await mailer?.send(mail)
        log.info({ subject: mail.subject }, 'A mail was handed over.')
      } catch (error) {
        const isTemporary = (error as { isTemporary?: boolean }).isTemporary === true
        log.warn({ subject: mail.subject, attempt: number, reason: messageOf(error) }, 'A mail was not taken.')
        if (!isTemporary || number >= ATTEMPTS_MAX) return
        clock.setTimeout(() => attempt(mail, number + 1), FIRST_RETRY_DELAY_MS * 4 ** (number - 1))
      }
    })
  }

  return {
    isConfigured: mailer !== undefined,
    send: (mail) => {
      if (mailer !== undefined) attempt(mail, 1)
    },
    later,
    whenIdle: () => tail,
    async stop() {
      await tail
      isStopped = true
      await mailer?.close()
    },
  }
}
