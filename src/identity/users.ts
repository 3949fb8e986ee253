import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformUser } from '../crds/identity.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** A person, as tokens describe them. */
export type IdentityUser = {
  id: string
  /** Tells this account from one that had the id before. */
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
  /** Signs in at the identity provider of a tenant, and by no password. */
  isExternal?: boolean
}

/** Where the provider finds people. Both throw if the store does not answer. */
export interface UserStore {
  /** Asked for every token, so that disabling counts at once. */
  find(userId: string): Promise<IdentityUser | undefined>
  /** By user name, else by an address that is one user's only; without regard to case. */
  findByLogin(login: string): Promise<IdentityUser | undefined>
}

type UserObject = PlatformUser & KubeObject

/** @param list everybody, from a cache if there is one */
export function kubeUserStore(
  client: Pick<KubeClient, 'get'>,
  list: () => Promise<readonly UserObject[]> | readonly UserObject[],
): UserStore {
  async function find(userId: string): Promise<IdentityUser | undefined> {
    // Only a uuid can name a principal or become part of a path.
    if (!isUuid(userId)) return undefined
    const found = await client
      .get<UserObject>(PlatformUser.resource, { namespace: SYSTEM_NAMESPACE, name: userId })
      .catch(absent)
    return found === undefined || found.metadata.deletionTimestamp !== undefined ? undefined : userOf(found)
  }
  return {
    find,
    async findByLogin(login) {
      const wanted = folded(login)
      if (wanted === '') return undefined
      const everybody = (await list()).filter(({ metadata }) => metadata.namespace === SYSTEM_NAMESPACE)
      const named = everybody.filter(({ spec }) => folded(spec.userName) === wanted)
      // Names that kubectl gave twice are nobody's: either would let one sign in as the other.
      const candidates = named.length > 0 ? named : everybody.filter(({ spec }) => folded(spec.email ?? '') === wanted)
      const [only, ...others] = candidates
      return only === undefined || others.length > 0 ? undefined : find(only.metadata.name)
    },
  }
}

const folded = (text: string) => text.normalize('NFKC').trim().toLowerCase()

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
    // Without the identity that a sign-in elsewhere writes, nobody can be an external person.
    isEnabled: spec.isEnabled && (!spec.isExternal || spec.externalIdentity !== undefined),
    isExternal: spec.isExternal,
  }
}
