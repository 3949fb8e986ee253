import { uuidV5 } from '../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { childName } from '../core/names.ts'
import type { ObjectMeta } from '../core/object.ts'

/**
 * Returns the principal of a managed identity: the name of its PlatformClient, its client id and the subject of its
 * tokens. It depends on the incarnation, so that an identity recreated under the same name inherits no assignment, and
 * on the place, so that a copy of the object in another group is another principal.
 */
export function managedIdentityPrincipal(namespace: string, name: string, incarnation: string): string {
  return uuidV5(['managed-identity', namespace, name, incarnation].join('/'))
}

/** Returns the principal of a stored identity; undefined until it has an incarnation. */
export function principalOfIdentity({ metadata }: { metadata: ObjectMeta }): string | undefined {
  const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION]
  if (incarnation === undefined || incarnation === '') return undefined
  return managedIdentityPrincipal(metadata.namespace ?? '', metadata.name, incarnation)
}

/** Derives the id of a workload's identity: two requests for it, even on two replicas at once, make only one. */
export function managedIdentityId(namespace: string, resourceUid: string): string {
  return uuidV5(['managed-identity-of', namespace, resourceUid].join('/'))
}

/**
 * Name of the Secret of one version of the credentials. Each version has a Secret of its own, so that the controllers,
 * which may read no Secret of the platform, never need to know the content of one.
 */
export function managedIdentitySecretName(principalId: string, version: number): string {
  return `identity-${principalId}-${version}`
}

/** Name of the Secret in the identity's group that the pods of its resource mount. */
export function identityCopyName(id: string): string {
  return childName('mi', id)
}

export const IDENTITY_FILES = {
  clientId: 'client-id',
  clientSecret: 'client-secret',
  tokenUrl: 'token-url',
  audience: 'audience',
  realm: 'realm',
  version: 'version',
} as const

/** Where pods mount the files. */
export const IDENTITY_PATH = '/var/run/secrets/freehold.dev/identity'
/** The volume of a pod with these files. Names of tenants' volumes have no double hyphen. */
export const IDENTITY_VOLUME = 'freehold--identity'

/** Where an identity gets its tokens, and for which audience and realm. */
export type TokenEndpoint = { tokenUrl: string; audience: string; realm: string }

/** The key of a client's Secret that the local identity provider reads. */
export const CLIENT_SECRET_KEY = 'client-secret'
