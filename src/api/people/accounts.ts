import type { UserDirectory, UserRecord } from '../../adapters/identity/port.ts'
import { PlatformError } from '../../core/errors.ts'
import type { ResendLimits } from '../../iam/invitations.ts'
import { type PasswordPolicy, passwordViolations } from '../../iam/passwordPolicy.ts'
import type { Caller } from '../http/context.ts'
import type { AttemptLimit } from './attemptLimit.ts'
import type { BrowserSignIn } from './browserSignIn.ts'
import type { Outbox } from './outbox.ts'
import type { Tenants } from './tenants.ts'

/** The services behind invitations, passwords and users. */
export type AccountServices = {
  readonly users: UserDirectory
  /** Whether accounts exist only at the issuer, so that the platform cannot create any. */
  readonly makesNoAccounts?: boolean
  /** The password policy of the identity provider. */
  readonly passwordRules: () => Promise<PasswordPolicy>
  /**
   * Whether the password is the person's; guesses are limited. Absent if the identity provider does not check
   * passwords.
   *
   * @throws PlatformError TOO_MANY_REQUESTS
   */
  readonly isPassword?: (user: UserRecord, password: string, address: string) => Promise<boolean>
  /** Absent if the facade is not a client of the identity provider. */
  readonly browserSignIn?: BrowserSignIn
  readonly tenants: Tenants
  readonly outbox: Outbox
  /** The URL that precedes the paths in links. */
  readonly linkBase: string
  readonly signInUrl: string
  readonly resendLimits: ResendLimits
  readonly resetsPerAddress: AttemptLimit
  readonly resetsPerClient: AttemptLimit
}

declare module '../http/context.ts' {
  interface Services {
    readonly accounts: AccountServices
  }
}

/** @throws PlatformError password_policy with `violations` */
export async function requireGoodPassword(
  { passwordRules }: Pick<AccountServices, 'passwordRules'>,
  password: string,
  email: string | undefined,
): Promise<void> {
  const violations = passwordViolations(password, email, await passwordRules())
  if (violations.length === 0) return
  throw new PlatformError('password_policy', `${violations.join('; ')}.`, { violations })
}

type Named = { userName: string } & { [Name in 'displayName' | 'firstName' | 'lastName']?: string | undefined }

export function displayNameOf({ displayName, firstName, lastName, userName }: Named): string {
  if (displayName !== undefined) return displayName
  const name = [firstName, lastName].filter((part) => part !== undefined && part !== '').join(' ')
  return name === '' ? userName : name
}

/** The e-mail address of a signed-in caller: from the directory, or from the token for external accounts. */
export async function addressOf(
  caller: Caller,
  users: UserDirectory,
): Promise<{ email: string | undefined; emailVerified: boolean }> {
  const known = caller.principalType === 'User' ? await users.find(caller.principalId) : undefined
  if (known?.email !== undefined) return { email: known.email, emailVerified: known.emailVerified }
  return { email: caller.email, emailVerified: caller.email !== undefined }
}
