import type { Resource } from '../../core/object.ts'
import { createLocalFederation } from './localFederation.ts'
import { type LocalUsersOptions, localUsers } from './localUsers.ts'
import type { IdentityAdministration } from './provider.ts'

export type LocalProviderOptions = LocalUsersOptions & { resources: { connection: Resource } }

/** Administers the local identity provider through PlatformUser objects and Secrets. */
export function createLocalProvider(options: LocalProviderOptions): IdentityAdministration {
  return {
    users: localUsers(options),
    federation: createLocalFederation({ client: options.client, connection: options.resources.connection }),
    passwordRules: async () => options.rules,
  }
}
