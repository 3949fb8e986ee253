import type { Account, FindAccount } from 'oidc-provider'
import type { PasswordChange, PasswordVerifier } from './passwords.ts'
import { grantsOf, sessionIdOf } from './state.ts'
import type { IdentityUser, UserStore } from './users.ts'

/** The claims of each scope (OIDC Core section 5.4). `typ` marks ID tokens, as in Keycloak. */
export const SCOPE_CLAIMS = {
  openid: ['sub', 'typ'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username'],
  email: ['email', 'email_verified'],
}

/**
 * Finds no account for unknown, deleted or disabled people, so no token is issued or renewed for them. The same holds
 * for sign-ins from before a password change, which is meant to lock others out.
 */
export function accountFinder(users: UserStore, passwords: PasswordVerifier): FindAccount {
  return async ({ oidc }, userId, token) => {
    const user = await users.find(userId)
    if (user?.isEnabled !== true) return undefined
    const ofToken = token !== undefined && 'authTime' in token ? token : undefined
    const signedInAt = ofToken === undefined ? oidc.session?.loginTs : ofToken.authTime
    const grants = ofToken === undefined ? grantsOf(oidc.session) : [ofToken.grantId ?? '']
    return (await isVoidSignIn(user, passwords, { signedInAt, grants })) ? undefined : accountOf(user)
  }
}

/** Returns whether a sign-in is void: it belongs to another person, or is from before a password change. */
export async function isVoidSignIn(
  user: IdentityUser,
  passwords: PasswordVerifier,
  { signedInAt, grants }: { signedInAt: number | undefined; grants: readonly string[] },
): Promise<boolean> {
  return isOfPreviousUser(user, signedInAt) || isStale(signedInAt, grants, await passwords.lastChange?.(user.id))
}

/** Whether a previous holder of the id signed in. The API server rounds creation times to seconds, by its own clock. */
function isOfPreviousUser({ createdAt }: IdentityUser, signedInAt: number | undefined): boolean {
  return createdAt !== undefined && signedInAt !== undefined && signedInAt < createdAt / 1000 - 1
}

/** Whether the sign-in was before the password change, and not the one in which the person made it. */
function isStale(
  signedInAt: number | undefined,
  grants: readonly string[],
  change: PasswordChange | undefined,
): boolean {
  if (signedInAt === undefined || change === undefined) return false
  // Sign-in times have a resolution of one second, so one in the same second is accepted.
  if (signedInAt >= Math.floor(change.at / 1000)) return false
  return !grants.some((grantId) => sessionIdOf(grantId) === change.keepSession)
}

function accountOf(user: IdentityUser): Account {
  return {
    accountId: user.id,
    claims: async (use) => ({
      sub: user.id,
      ...(use === 'id_token' ? { typ: 'ID' } : {}),
      ...personClaims(user),
    }),
  }
}

/** Returns the claims about a person in access tokens, ID tokens and userinfo. */
export function personClaims(user: IdentityUser): Record<string, string | boolean> {
  const claims = {
    name: user.displayName,
    preferred_username: user.userName,
    given_name: user.firstName,
    family_name: user.lastName,
    email: user.email,
    ...(user.email === undefined ? {} : { email_verified: user.emailVerified }),
  }
  return Object.fromEntries(
    Object.entries(claims).flatMap(([claim, value]) => (value === undefined ? [] : [[claim, value]])),
  )
}
