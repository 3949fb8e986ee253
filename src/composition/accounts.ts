import type { IdentityAdministration } from '../adapters/identity/provider.ts'
import { createFolderMailer } from '../adapters/mail/folder.ts'
import type { Mailer } from '../adapters/mail/port.ts'
import type { AccountServices } from '../api/people/accounts.ts'
import { AttemptLimit } from '../api/people/attemptLimit.ts'
import { createOutbox } from '../api/people/outbox.ts'
import { recordedTenants } from '../api/people/tenants.ts'
import type { Records } from '../api/records/records.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import { PlatformError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { RESEND_LIMITS } from '../iam/invitations.ts'
import { type GuessLimiter, secretPasswords } from '../identity/index.ts'
import type { KubeClient } from '../kube/client.ts'
import { memoizeWithTtl } from './memoizeWithTtl.ts'

/** Password reset requests per hour (records of section 14). */
const RESETS_PER_ADDRESS = 5
const RESETS_PER_CLIENT = 20
/** Milliseconds. Anyone may ask for the rules, so this limits the requests to the identity provider. */
const RULES_TTL_MS = 30_000

/** Creates the account services from the configuration. The caller must stop the `outbox`. */
export async function accountServices(
  configuration: Configuration,
  { users, passwordRules }: Pick<IdentityAdministration, 'users' | 'passwordRules'>,
  records: Records,
  log: Log,
  { client, guesses }: { client: KubeClient; guesses: GuessLimiter },
): Promise<AccountServices> {
  const { facadePort, invitationResends, invitationResendHours, issuer, publicUrl } = configuration
  return {
    users,
    makesNoAccounts: configuration.identityProvider === 'external',
    passwordRules: memoizeWithTtl(passwordRules, RULES_TTL_MS),
    ...(configuration.identityProvider === 'local' ? { isPassword: passwordCheck(client, guesses) } : {}),
    tenants: recordedTenants(records),
    outbox: createOutbox({ mailer: await mailer(configuration), log, clock: systemClock }),
    linkBase: (publicUrl ?? `http://127.0.0.1:${facadePort}`).replace(/\/+$/, ''),
    // Keycloak has its account page at the same path.
    signInUrl: `${issuer}/account`,
    resendLimits: {
      ...RESEND_LIMITS,
      immediate: invitationResends,
      interval: invitationResendHours * 3_600_000,
    },
    resetsPerAddress: new AttemptLimit(RESETS_PER_ADDRESS, systemClock),
    resetsPerClient: new AttemptLimit(RESETS_PER_CLIENT, systemClock),
  }
}

function passwordCheck(client: KubeClient, guesses: GuessLimiter): NonNullable<AccountServices['isPassword']> {
  const passwords = secretPasswords(client)
  return async ({ id, userName }, password, address) => {
    const judged = await guesses.judge(address, userName, async () =>
      (await passwords.verify(id, password.slice(0, 1024))) ? true : undefined,
    )
    if ('value' in judged) return judged.value === true
    const { blockedFor: retryAfterSeconds } = judged
    throw new PlatformError('TOO_MANY_REQUESTS', 'Too many attempts. Wait, then try again.', { retryAfterSeconds })
  }
}

async function mailer({ smtpUrl, mailFrom, mailFolder }: Configuration): Promise<Mailer | undefined> {
  if (smtpUrl !== undefined) {
    const { createSmtpMailer } = await import('../adapters/mail/smtp.ts')
    return createSmtpMailer({ url: smtpUrl, from: mailFrom })
  }
  return mailFolder === undefined ? undefined : createFolderMailer(mailFolder, systemClock)
}
