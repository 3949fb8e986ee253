import type { Account, FindAccount } from 'oidc-provider'
import type { IdentityUser, UserStore } from './users.ts'

/** Which claims each scope brings (OIDC Core section 5.4). `typ` tells ID tokens, as Keycloak does. */
export const SCOPE_CLAIMS = {
  openid: ['sub', 'typ'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username'],
  email: ['email', 'email_verified'],
}

/** Nobody who is unknown, deleted or disabled has an account: no token is issued or renewed for them. */
export function accountFinder(users: UserStore): FindAccount {
  return async (_context, userId) => {
    const user = await users.find(userId)
    return user?.isEnabled === true ? accountOf(user) : undefined
  }
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
