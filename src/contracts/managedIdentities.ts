import { uuidV5 } from '../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { childName } from '../core/names.ts'
import type { ObjectMeta } from '../core/object.ts'

/**
 * The principal of a managed identity: name of its PlatformClient, client id and subject of its tokens. It follows from
 * the incarnation, so that one made anew under the same name inherits no assignment, and from the place, so that a copy
 * of the object in another group is somebody else.
 */
export function managedIdentityPrincipal(namespace: string, name: string, incarnation: string): string {
  return uuidV5(['managed-identity', namespace, name, incarnation].join('/'))
}

/** Of an identity as it is stored; undefined while its life has no id. */
export function principalOfIdentity({ metadata }: { metadata: ObjectMeta }): string | undefined {
  const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION]
  if (incarnation === undefined || incarnation === '') return undefined
  return managedIdentityPrincipal(metadata.namespace ?? '', metadata.name, incarnation)
}

/** The id of the identity of a workload. Asking for it twice, on two replicas at once even, makes one. */
export function managedIdentityId(namespace: string, resourceUid: string): string {
  return uuidV5(['managed-identity-of', namespace, resourceUid].join('/'))
}

/**
 * The Secret of one version of the credentials. Each version has a Secret of its own, so that the controllers, which may
 * read no Secret of the platform, never need to know what one holds.
 */
export function managedIdentitySecretName(principalId: string, version: number): string {
  return `identity-${principalId}-${version}`
}

/** The Secret in the group of the identity that its resource's pods mount. */
export function identityCopyName(id: string): string {
  return childName('mi', id)
}

/** What its files are called. */
export const IDENTITY_FILES = {
  clientId: 'client-id',
  clientSecret: 'client-secret',
  tokenUrl: 'token-url',
  audience: 'audience',
  realm: 'realm',
  version: 'version',
} as const

/** Where pods find the files. */
export const IDENTITY_PATH = '/var/run/secrets/freehold.dev/identity'
/** The volume of a pod with these files. No volume of a tenant has two hyphens in its name. */
export const IDENTITY_VOLUME = 'freehold--identity'

/** Where an identity gets its tokens, and what they are for. */
export type SignIn = { tokenUrl: string; audience: string; realm: string }

/** The key of a client's Secret that the local identity provider reads. */
export const CLIENT_SECRET_KEY = 'client-secret'
