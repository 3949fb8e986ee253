import { ReasonedError } from '../../core/failure.ts'

export type { FederatedProvider, FederatedTenant, Federation } from './federation.ts'

/**
 * The users of an identity provider: the local one, which stores our own kinds, or Keycloak with its admin API. Both
 * pass the same contract tests. Every call is idempotent or says how it is not, and throws IdentityProviderError.
 */
export interface UserDirectory {
  /** Returns undefined for an unknown id. */
  find(userId: string): Promise<UserRecord | undefined>
  /** Matches the whole address, ignoring case. */
  findByEmail(email: string): Promise<UserRecord | undefined>
  list(query: UserQuery): Promise<UserRecord[]>
  /** @throws IdentityProviderError NameTaken if the user name, the address or the id is taken; PasswordRefused */
  create(user: NewUser): Promise<UserRecord>
  /** Absent fields are left unchanged. @throws IdentityProviderError NotFound, NameTaken */
  update(userId: string, change: UserChange): Promise<UserRecord>
  /** Ends the user's sessions, except the kept one. @throws IdentityProviderError NotFound, PasswordRefused */
  setPassword(userId: string, password: string, options?: SetPasswordOptions): Promise<void>
  /** Whether this provider itself stores a password for the user; false for unknown ids. */
  hasLocalPassword(userId: string): Promise<boolean>
  /** Returns the number of users per tenant, 0 included. */
  countIn(tenantIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Without effect for a member. @throws IdentityProviderError NotFound */
  joinTenant(userId: string, tenantId: string): Promise<void>
  /** Without effect if the user is not a member or no longer exists. */
  leaveTenant(userId: string, tenantId: string): Promise<void>
  /** Ends all sessions; issued tokens live until they expire. Without effect if the user no longer exists. */
  signOut(userId: string): Promise<void>
  /** Without effect if the user no longer exists. */
  delete(userId: string): Promise<void>
}

/** Times are milliseconds since the epoch; `id` is the subject of the person's tokens, a uuid. */
export type UserRecord = {
  id: string
  userName: string
  email?: string
  emailVerified: boolean
  firstName?: string
  lastName?: string
  /** A name that the user chose; otherwise first and last name are shown. */
  displayName?: string
  isEnabled: boolean
  /** Signs in at another provider that this one trusts. */
  isExternal: boolean
  /** The tenants that the user is a member of. */
  tenantIds: readonly string[]
  createdAt: number
  lastSignInAt?: number
}
export type SetPasswordOptions = {
  /** The `sid` claim of the session to keep. */
  keepSession?: string | undefined
}
export type UserQuery = {
  /** Part of a name or of an address. */
  search?: string
  /** At least 1. */
  limit: number
}
export type NewUser = Pick<UserRecord, 'userName' | 'email' | 'emailVerified' | 'firstName' | 'lastName'> & {
  password?: string
  /** The id of the new user, for callers that must find the user again after a failure; random by default. */
  id?: string
}
export type UserChange = Partial<Pick<UserRecord, 'email' | 'emailVerified' | 'firstName' | 'lastName' | 'isEnabled'>>

export type IdentityProviderReason = 'NotFound' | 'NameTaken' | 'PasswordRefused' | 'Unsupported' | 'Unavailable'

/** The message is our own: an answer of the provider may repeat the secrets that were sent to it. */
export class IdentityProviderError extends ReasonedError<IdentityProviderReason> {}
