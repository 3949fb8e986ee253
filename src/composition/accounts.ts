import { createLocalDirectory } from '../adapters/identity/local.ts'
import { createFolderMailer } from '../adapters/mail/folder.ts'
import type { Mailer } from '../adapters/mail/port.ts'
import { createSmtpMailer } from '../adapters/mail/smtp.ts'
import type { AccountServices } from '../api/accounts.ts'
import { recordedTenants } from '../api/invitations/tenants.ts'
import { createOutbox } from '../api/outbox.ts'
import { AttemptLimit } from '../api/passwords/attemptLimit.ts'
import type { Records } from '../api/records.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { PlatformUser } from '../crds/identity.ts'
import { RESEND_LIMITS } from '../iam/invitations.ts'
import { secret } from '../kube/builtin.ts'
import type { Connection } from './connection.ts'

/** Requests for a password reset within an hour (records of section 14). */
const RESETS_PER_ADDRESS = 5
const RESETS_PER_CLIENT = 20

/** Users, mails and limits as the configuration says. Its `outbox` is to be stopped. */
export function accountServices(
  configuration: Configuration,
  { client, caches }: Pick<Connection, 'client' | 'caches'>,
  records: Records,
  log: Log,
): AccountServices {
  const { facadePort, invitationResends, invitationResendHours, issuer, publicUrl } = configuration
  return {
    users: createLocalDirectory({
      client,
      users: caches.get(PlatformUser.resource),
      resources: { user: PlatformUser.resource, secret },
      clock: systemClock,
    }),
    tenants: recordedTenants(records),
    outbox: createOutbox({ mailer: mailer(configuration), log, clock: systemClock }),
    linkBase: (publicUrl ?? `http://127.0.0.1:${facadePort}`).replace(/\/+$/, ''),
    signInUrl: `${issuer}/protocol/openid-connect/auth`,
    resendLimits: {
      ...RESEND_LIMITS,
      free: invitationResends,
      interval: invitationResendHours * 3_600_000,
    },
    resetsPerAddress: new AttemptLimit(RESETS_PER_ADDRESS, systemClock),
    resetsPerClient: new AttemptLimit(RESETS_PER_CLIENT, systemClock),
  }
}

function mailer({ smtpUrl, mailFrom, mailFolder }: Configuration): Mailer | undefined {
  if (smtpUrl !== undefined) return createSmtpMailer({ url: smtpUrl, from: mailFrom })
  return mailFolder === undefined ? undefined : createFolderMailer(mailFolder, systemClock)
}
