import type { Mail, Mailer } from './port.ts'

/** Keeps mails in memory. Throws each error of `failures` once, in order. */
export class FakeMailer implements Mailer {
  readonly sent: Mail[] = []
  readonly failures: Error[] = []

  async send(mail: Mail): Promise<void> {
    const failure = this.failures.shift()
    if (failure !== undefined) throw failure
    this.sent.push(mail)
  }

  async close(): Promise<void> {}
}
