import type { ClientDirectory, NewUser, UserChange, UserQuery, UserRecord } from './port.ts'

/** A person as every identity provider knows them; which tenants they belong to is the platform's to know. */
export type ProviderUser = Omit<UserRecord, 'tenantIds'>

/** The people of an identity provider. Throws IdentityProviderError, or the reason of the caller's own signal. */
export interface ProviderUsers {
  find(userId: string, signal?: AbortSignal): Promise<ProviderUser | undefined>
  /** By the whole address, without regard to case. */
  findByEmail(email: string, signal?: AbortSignal): Promise<ProviderUser | undefined>
  list(query: UserQuery, signal?: AbortSignal): Promise<ProviderUser[]>
  /** @throws IdentityProviderError NameTaken, PasswordRefused */
  create(user: NewUser, signal?: AbortSignal): Promise<ProviderUser>
  /** Absent fields stay. @throws IdentityProviderError NotFound, NameTaken */
  update(userId: string, change: UserChange, signal?: AbortSignal): Promise<ProviderUser>
  /** Ends all sessions of the user. @throws IdentityProviderError NotFound, PasswordRefused */
  setPassword(userId: string, password: string, signal?: AbortSignal): Promise<void>
  /** Ends all sessions; tokens that are out live until they expire. Without effect for a user who is gone. */
  signOut(userId: string, signal?: AbortSignal): Promise<void>
  /** Without effect for a user who is gone. */
  delete(userId: string, signal?: AbortSignal): Promise<void>
}

/** What a password needs, as counts of characters; 0 where nothing is asked. */
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
  readonly users: ProviderUsers
  readonly clients: ClientDirectory
  passwordRules(signal?: AbortSignal): Promise<PasswordRules>
}
