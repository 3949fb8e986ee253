import type { Account, FindAccount } from 'oidc-provider'
import type { PasswordChange, PasswordVerifier } from './passwords.ts'
import { grantsOf, sessionIdOf } from './state.ts'
import type { IdentityUser, UserStore } from './users.ts'

/** Which claims each scope brings (OIDC Core section 5.4). `typ` tells ID tokens, as Keycloak does. */
export const SCOPE_CLAIMS = {
  openid: ['sub', 'typ'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username'],
  email: ['email', 'email_verified'],
}

/**
 * Nobody who is unknown, deleted or disabled has an account: no token is issued or renewed for them. Nor for who signed
 * in before the password was changed: a new one is meant to keep others out.
 */
export function accountFinder(users: UserStore, passwords: PasswordVerifier): FindAccount {
  return async ({ oidc }, userId, token) => {
    const user = await users.find(userId)
    if (user?.isEnabled !== true) return undefined
    const ofToken = token !== undefined && 'authTime' in token ? token : undefined
    const signedInAt = ofToken === undefined ? oidc.session?.loginTs : ofToken.authTime
    const grants = ofToken === undefined ? grantsOf(oidc.session) : [ofToken.grantId ?? '']
    return (await isPast(user, passwords, { signedInAt, grants })) ? undefined : accountOf(user)
  }
}

/** Whether a sign-in says nothing any more: it was another person's, or is from before the password was changed. */
export async function isPast(
  user: IdentityUser,
  passwords: PasswordVerifier,
  { signedInAt, grants }: { signedInAt: number | undefined; grants: readonly string[] },
): Promise<boolean> {
  return isOfAnother(user, signedInAt) || isStale(signedInAt, grants, await passwords.lastChange?.(user.id))
}

/** Whether the former holder of the id signed in. The API server rounds creation to the second, by its own clock. */
function isOfAnother({ createdAt }: IdentityUser, signedInAt: number | undefined): boolean {
  return createdAt !== undefined && signedInAt !== undefined && signedInAt < createdAt / 1000 - 1
}

/** Whether the sign-in was before the password was changed, and not the one in which the person changed it. */
function isStale(
  signedInAt: number | undefined,
  grants: readonly string[],
  change: PasswordChange | undefined,
): boolean {
  if (signedInAt === undefined || change === undefined) return false
  // Sign-ins are known to the second: one of that very second is believed.
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

/** What access tokens, ID tokens and userinfo say of a person alike. */
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
