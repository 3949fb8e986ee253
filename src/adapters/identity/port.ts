import { ReasonedError } from '../../core/failure.ts'

export type { FederatedProvider, FederatedTenant, Federation } from './federation.ts'

/**
 * The people of an identity provider, whichever it is: the local one over our kinds, or Keycloak through its admin API.
 * Both are held to the same contract tests. Every call is idempotent or says how it is not, ends with its signal, and
 * throws IdentityProviderError or the reason of the signal.
 */
export interface UserDirectory {
  /** Undefined for an unknown id. */
  find(userId: string, signal?: AbortSignal): Promise<UserRecord | undefined>
  /** By the whole address, without regard to case. */
  findByEmail(email: string, signal?: AbortSignal): Promise<UserRecord | undefined>
  list(query: UserQuery, signal?: AbortSignal): Promise<UserRecord[]>
  /** @throws IdentityProviderError NameTaken where the user name, the address or the id is; PasswordRefused */
  create(user: NewUser, signal?: AbortSignal): Promise<UserRecord>
  /** Absent fields stay. @throws IdentityProviderError NotFound, NameTaken */
  update(userId: string, change: UserChange, signal?: AbortSignal): Promise<UserRecord>
  /** Ends the sessions of the user, all but one where that is named. @throws IdentityProviderError NotFound, PasswordRefused */
  setPassword(userId: string, password: string, options?: SetPasswordOptions): Promise<void>
  /** Whether this provider itself knows a password of the user; false for unknown ids. */
  hasLocalPassword(userId: string, signal?: AbortSignal): Promise<boolean>
  /** How many people belong to each of the tenants, none included. */
  countIn(tenantIds: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, number>>
  /** Without effect for a member. @throws IdentityProviderError NotFound */
  joinTenant(userId: string, tenantId: string, signal?: AbortSignal): Promise<void>
  /** Without effect if the user is not a member or no longer exists. */
  leaveTenant(userId: string, tenantId: string, signal?: AbortSignal): Promise<void>
  /** Ends all sessions; issued tokens live until they expire. Without effect if the user no longer exists. */
  signOut(userId: string, signal?: AbortSignal): Promise<void>
  /** Without effect if the user no longer exists. */
  delete(userId: string, signal?: AbortSignal): Promise<void>
}

/** Times are milliseconds since the epoch; `id` is the subject of the person's tokens, a uuid. */
export type UserRecord = {
  id: string
  userName: string
  email?: string
  emailVerified: boolean
  firstName?: string
  lastName?: string
  /** A name of their own choice; first and last name otherwise. */
  displayName?: string
  isEnabled: boolean
  /** Signs in at another provider that this one trusts. */
  isExternal: boolean
  /** The tenants that the user belongs to. */
  tenantIds: readonly string[]
  createdAt: number
  lastSignInAt?: number
}
export type SetPasswordOptions = {
  /** The `sid` claim of the tokens whose session goes on. */
  keepSession?: string | undefined
  signal?: AbortSignal | undefined
}
export type UserQuery = {
  /** Part of a name or of an address. */
  search?: string
  /** At least 1. */
  limit: number
}
export type NewUser = Pick<UserRecord, 'userName' | 'email' | 'emailVerified' | 'firstName' | 'lastName'> & {
  password?: string
  /** The id that the user shall have, where the caller must meet it again after a failure; else a new one. */
  id?: string
}
export type UserChange = Partial<Pick<UserRecord, 'email' | 'emailVerified' | 'firstName' | 'lastName' | 'isEnabled'>>

export type IdentityProviderReason = 'NotFound' | 'NameTaken' | 'PasswordRefused' | 'Unsupported' | 'Unavailable'

/** The message is ours: nothing of the provider's answer, which may hold what was sent to it. */
export class IdentityProviderError extends ReasonedError<IdentityProviderReason> {}
