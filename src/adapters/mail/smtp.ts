import { createTransport } from 'nodemailer'
import { MailError, type Mailer } from './port.ts'

export type SmtpOptions = {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  url: string
  from: string
}

/** Timeout in milliseconds. */
const PATIENCE = 10_000

/** Sends mails over SMTP. With `smtp://`, STARTTLS is used if the server offers it (RFC 3207). */
export function createSmtpMailer({ url, from }: SmtpOptions): Mailer {
  const address = new URL(url)
  const isSecure = address.protocol === 'smtps:'
  const { username, password } = address
  const transport = createTransport({
    host: address.hostname.replace(/^\[|\]$/g, ''),
    port: Number(address.port || (isSecure ? 465 : 587)),
    secure: isSecure,
    pool: true,
    maxConnections: 2,
    connectionTimeout: PATIENCE,
    greetingTimeout: PATIENCE,
    socketTimeout: PATIENCE,
    // No mail of ours refers to a file or a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
  })
  return {
    async send({ to, subject, text }) {
      try {
        // As an object, so that an address with a comma is never parsed into several.
        await transport.sendMail({ from, to: { name: '', address: to }, subject, text })
      } catch (error) {
        throw refusal(error, address.host)
      }
    },
    async close() {
      transport.close()
    },
  }
}

function refusal(error: unknown, host: string): MailError {
  const { responseCode } = (error ?? {}) as { responseCode?: number }
  // RFC 5321 section 4.2.1: 5yz is permanent. Without a code the server was not reached.
  const isTemporary = responseCode === undefined || responseCode < 500
  const why = responseCode === undefined ? 'did not answer' : `answered ${responseCode}`
  return new MailError(`The mail server ${host} ${why}.`, isTemporary, { cause: error })
}
