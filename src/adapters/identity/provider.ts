import type { Federation } from './federation.ts'
import type { UserDirectory } from './port.ts'

/** Requirements for passwords, as numbers of characters; 0 if there is none. */
export type PasswordRules = {
  minLength: number
  maxLength: number
  minDigits: number
  minLowerCase: number
  minUpperCase: number
  minSpecialChars: number
  /** Whether the password may equal the address or the user name. */
  allowEmail: boolean
}

/** What the platform administers at an identity provider. Local and Keycloak pass the same contract tests. */
export interface IdentityAdministration {
  readonly users: UserDirectory
  /** Tenants' identity providers, brokered by this one. */
  readonly federation: Federation
  passwordRules(): Promise<PasswordRules>
}
