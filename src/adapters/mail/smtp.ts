import { createTransport } from 'nodemailer'
import { isLoopback } from '../../core/isLoopback.ts'
import { MailError, type Mailer } from './port.ts'

export type SmtpOptions = {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  url: string
  from: string
}

const TIMEOUT_MS = 10_000

/**
 * Whether mails are sent only once the connection is encrypted by STARTTLS (RFC 3207). A server that does not offer it
 * cannot be told from an attacker in between who removes the offer to read credentials and invitation links.
 *
 * @param address `smtp://`; `?starttls=optional` accepts an unencrypted connection, as loopback does by default
 */
export function requiresStarttls(address: URL): boolean {
  const choice = address.searchParams.get('starttls')
  return choice === null ? !isLoopback(address) : choice !== 'optional'
}

/** Sends mails over SMTP. */
export function createSmtpMailer({ url, from }: SmtpOptions): Mailer {
  const address = new URL(url)
  const isSecure = address.protocol === 'smtps:'
  const { username, password } = address
  const transport = createTransport({
    host: address.hostname.replace(/^\[|\]$/g, ''),
    port: Number(address.port || (isSecure ? 465 : 587)),
    secure: isSecure,
    requireTLS: !isSecure && requiresStarttls(address),
    pool: true,
    maxConnections: 2,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
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
        throw mailErrorOf(error, address.host)
      }
    },
    async close() {
      transport.close()
    },
  }
}

function mailErrorOf(error: unknown, host: string): MailError {
  const { responseCode, code } = (error ?? {}) as { responseCode?: number; code?: string }
  if (code === 'ETLS') {
    const remedy = 'Use smtps://, or add ?starttls=optional to its URL if the network to it is trusted'
    return new MailError(`The mail server ${host} does not encrypt the connection by STARTTLS. ${remedy}.`, false, {
      cause: error,
    })
  }
  // RFC 5321 section 4.2.1: 5yz is permanent. Without a code the server was not reached.
  const isTemporary = responseCode === undefined || responseCode < 500
  const why = responseCode === undefined ? 'did not answer' : `answered ${responseCode}`
  return new MailError(`The mail server ${host} ${why}.`, isTemporary, { cause: error })
}
