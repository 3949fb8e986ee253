import { BROKERED_PROTOCOLS } from '../../contracts/ssoProviders.ts'
import type { Federation } from './federation.ts'
import { IdentityProviderError, type UserRecord } from './port.ts'
import type { IdentityAdministration } from './provider.ts'

/**
 * An issuer that the platform does not administer. The platform knows its people only from the records that somebody keeps
 * here. Their accounts, passwords and identity providers are at the issuer: creating them here would let nobody in.
 */
export function createExternalProvider({ users, passwordRules }: IdentityAdministration): IdentityAdministration {
  const elsewhere = (user: UserRecord): UserRecord => ({ ...user, isExternal: true })
  const elsewhereIfAny = (user: UserRecord | undefined) => user && elsewhere(user)
  return {
    users: {
      ...users,
      find: async (...args) => elsewhereIfAny(await users.find(...args)),
      findByEmail: async (...args) => elsewhereIfAny(await users.findByEmail(...args)),
      list: async (...args) => (await users.list(...args)).map(elsewhere),
      create: async () => {
        throw unsupported('accounts')
      },
      setPassword: async () => {
        throw unsupported('passwords')
      },
      hasLocalPassword: async () => false,
    },
    federation,
    passwordRules,
  }
}

const federation: Federation = {
  protocols: BROKERED_PROTOCOLS.external,
  async apply({ providers }) {
    if (providers.length > 0) throw unsupported('the identity providers of tenants')
  },
  find: async () => undefined,
  async remove() {},
}

function unsupported(what: string): IdentityProviderError {
  return new IdentityProviderError('Unsupported', `The issuer of this platform manages ${what}: change them there.`)
}
