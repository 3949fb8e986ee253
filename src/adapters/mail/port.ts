/** A mail. The text may hold a link with a token, so it must not appear in logs or errors. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string }

export interface Mailer {
  /** Resolves when the mail is handed over. @throws MailError */
  send(mail: Mail): Promise<void>
  close(): Promise<void>
}

/** The message is ours: a mail server's answer may repeat what it was sent. */
export class MailError extends Error {
  /** Whether a retry may succeed. */
  readonly isTemporary: boolean

  constructor(message: string, isTemporary: boolean, options?: { cause: unknown }) {
    super(message, options)
    this.name = 'MailError'
    this.isTemporary = isTemporary
  }
}
