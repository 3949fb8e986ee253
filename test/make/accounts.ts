import { FakeUserDirectory } from '../../src/adapters/identity/fake.ts'
import { FakeMailer } from '../../src/adapters/mail/fake.ts'
import type { AccountServices } from '../../src/api/people/accounts.ts'
import { AttemptLimit } from '../../src/api/people/attemptLimit.ts'
import { createOutbox } from '../../src/api/people/outbox.ts'
import type { Tenants } from '../../src/api/people/tenants.ts'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { RESEND_LIMITS } from '../../src/iam/invitations.ts'
import { PASSWORD_POLICY } from '../../src/iam/passwordPolicy.ts'

/** Accounts and mails in memory. `mail` false: mail is not configured. */
export function makeAccounts({ clock = systemClock, mail = true }: { clock?: Clock; mail?: boolean } = {}) {
  const users = new FakeUserDirectory()
  const mailer = new FakeMailer()
  const accounts: AccountServices = {
    users,
    passwordRules: async () => PASSWORD_POLICY,
    tenants: { ofBoundary: ({ spec }) => spec.tenantId } satisfies Tenants,
    outbox: createOutbox({ mailer: mail ? mailer : undefined, log: silentLog, clock }),
    linkBase: 'https://cloud.example.test',
    signInUrl: 'https://login.example.test/auth',
    resendLimits: RESEND_LIMITS,
    resetsPerAddress: new AttemptLimit(5, clock),
    resetsPerClient: new AttemptLimit(20, clock),
  }
  return { accounts, users, mailer }
}
