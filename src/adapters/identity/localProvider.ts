import type { Resource } from '../../core/object.ts'
import { localClients } from './localClients.ts'
import { createLocalFederation } from './localFederation.ts'
import { type LocalUsersOptions, localUsers } from './localUsers.ts'
import type { IdentityAdministration } from './provider.ts'

export type LocalProviderOptions = LocalUsersOptions & { resources: { connection: Resource } }

/** The local identity provider as the platform administers it: PlatformUser and PlatformClient objects and Secrets. */
export function createLocalProvider(options: LocalProviderOptions): IdentityAdministration {
  return {
    users: localUsers(options),
    clients: localClients(options),
    federation: createLocalFederation({ client: options.client, connection: options.resources.connection }),
    passwordRules: async () => options.rules,
  }
}
