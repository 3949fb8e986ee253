import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformUser } from '../crds/identity.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** A person as tokens describe them. */
export type IdentityUser = {
  id: string
  /** Distinguishes the account from an earlier one with the same id. */
  uid?: string | undefined
  /** Milliseconds since the epoch. */
  createdAt?: number | undefined
  userName: string
  displayName: string
  email: string | undefined
  emailVerified: boolean
  firstName: string | undefined
  lastName: string | undefined
  isEnabled: boolean
  /** Signs in at a tenant's identity provider, never with a password. */
  isExternal?: boolean
}

/** The people of the provider. Both methods throw if the store does not answer. */
export interface UserStore {
  /** Called for every token, so that disabling takes effect at once. */
  find(userId: string): Promise<IdentityUser | undefined>
  /** By user name, or else by an e-mail address that only one user has; case-insensitive. */
  findByLogin(login: string): Promise<IdentityUser | undefined>
}

type UserObject = PlatformUser & KubeObject

/** @param list returns all users, from a cache if available */
export function kubeUserStore(
  client: Pick<KubeClient, 'get'>,
  list: () => Promise<readonly UserObject[]> | readonly UserObject[],
): UserStore {
  async function find(userId: string): Promise<IdentityUser | undefined> {
    // User ids are uuids. Nothing else may become part of a path.
    if (!isUuid(userId)) return undefined
    const found = await client
      .get<UserObject>(PlatformUser.resource, { namespace: SYSTEM_NAMESPACE, name: userId })
      .catch(absent)
    return found === undefined || found.metadata.deletionTimestamp !== undefined ? undefined : userOf(found)
  }
  return {
    find,
    async findByLogin(login) {
      const wanted = normalize(login)
      if (wanted === '') return undefined
      const everybody = (await list()).filter(({ metadata }) => metadata.namespace === SYSTEM_NAMESPACE)
      const named = everybody.filter(({ spec }) => normalize(spec.userName) === wanted)
      // kubectl can create duplicate names. They match nobody, so that no one signs in as somebody else.
      const candidates =
        named.length > 0 ? named : everybody.filter(({ spec }) => normalize(spec.email ?? '') === wanted)
      const [only, ...others] = candidates
      return only === undefined || others.length > 0 ? undefined : find(only.metadata.name)
    },
  }
}

const normalize = (text: string) => text.normalize('NFKC').trim().toLowerCase()

function userOf({ metadata, spec }: UserObject): IdentityUser {
  const fullName = [spec.firstName, spec.lastName].filter((part) => part !== undefined && part !== '').join(' ')
  return {
    id: metadata.name,
    uid: metadata.uid,
    createdAt: metadata.creationTimestamp === undefined ? undefined : Date.parse(metadata.creationTimestamp),
    userName: spec.userName,
    displayName: spec.displayName ?? (fullName === '' ? spec.userName : fullName),
    email: spec.email,
    emailVerified: spec.emailVerified,
    firstName: spec.firstName,
    lastName: spec.lastName,
    // `isExternal` without the identity that an external sign-in stores is inconsistent: treat it as disabled.
    isEnabled: spec.isEnabled && (!spec.isExternal || spec.externalIdentity !== undefined),
    isExternal: spec.isExternal,
  }
}
