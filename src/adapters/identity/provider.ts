import type { Federation } from './federation.ts'
import type { UserDirectory } from './port.ts'

/** What a password needs, as counts of characters; 0 if nothing is asked. */
export type PasswordRules = {
  minLength: number
  maxLength: number
  minDigits: number
  minLowerCase: number
  minUpperCase: number
  minSpecialChars: number
  /** Whether the address or the user name may be the password. */
  allowEmail: boolean
}

/** An identity provider with everything that the platform does there. Local and Keycloak pass the same contract. */
export interface IdentityAdministration {
  readonly users: UserDirectory
  /** Identity providers of tenants, behind this one. */
  readonly federation: Federation
  passwordRules(signal?: AbortSignal): Promise<PasswordRules>
}
