import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject, ObjectMeta, Resource } from '../core/object.ts'
import { BlueprintExecution } from './blueprints.ts'
import { Boundary } from './boundaries.ts'
import type { AnyKind } from './define.ts'
import { PlatformClient, PlatformUser } from './identity.ts'
import { MemberInvitation } from './invitations.ts'
import { DenyAssignment, JitRequest, PrincipalGroup, RoleAssignment } from './rbac.ts'

/**
 * Principals and their incarnations. An id can recur: a person from a tenant's identity provider has one that is
 * derived from there, and kubectl may choose any. What was given to a deleted principal must not pass to its successor,
 * so records carry the incarnation of each principal that they name.
 */

/** Kinds whose records name principals. */
const PRINCIPAL_KINDS: ReadonlySet<string> = new Set(
  [RoleAssignment, DenyAssignment, JitRequest, PrincipalGroup, BlueprintExecution, Boundary, MemberInvitation].map(
    ({ kind }) => kind,
  ),
)

/** Types of our records of principals. People in Keycloak have no record, and their ids never recur. */
export const PRINCIPAL_RESOURCES: readonly Resource[] = [
  PlatformUser.resource,
  PlatformClient.resource,
  PrincipalGroup.resource,
]

type NamedPrincipals = {
  principalId?: string | undefined
  startedBy?: string
  invitedBy?: string
  initialOwner?: { readonly principalId: string } | undefined
  excludedPrincipalIds?: readonly string[]
  memberIds?: readonly string[]
}

/** Returns the principals that a record of the kind names; empty for kinds that name nobody. */
export function principalsNamedBy({ kind }: Pick<AnyKind, 'kind'>, spec: object): string[] {
  if (!PRINCIPAL_KINDS.has(kind)) return []
  const {
    principalId,
    startedBy,
    invitedBy,
    initialOwner,
    excludedPrincipalIds = [],
    memberIds = [],
  } = spec as NamedPrincipals
  const named = [principalId, startedBy, invitedBy, initialOwner?.principalId].filter((id) => id !== undefined)
  return [...named, ...excludedPrincipalIds, ...memberIds]
}

type Annotated = { readonly metadata: Pick<ObjectMeta, 'annotations' | 'namespace'> }

/** Returns the incarnations that a record names, by principal id; without one, the record means whoever has the id. */
export function incarnationsNamedBy({ metadata }: Annotated): Readonly<Record<string, string>> {
  const text = metadata.annotations?.[PRINCIPAL_INCARNATIONS_ANNOTATION]
  if (text === undefined) return {}
  try {
    return JSON.parse(text) as Record<string, string>
  } catch {
    return {}
  }
}

/** Looks up an existing principal. */
export type PrincipalLookup = (resource: Resource, namespace: string, name: string) => KubeObject | undefined

/** Returns the principal of an id as seen from a namespace: a person, a service account, or a group valid there. */
export function principalAt(find: PrincipalLookup, id: string, namespace = SYSTEM_NAMESPACE) {
  const places: [Resource, string][] = [
    [PlatformUser.resource, SYSTEM_NAMESPACE],
    [PlatformClient.resource, SYSTEM_NAMESPACE],
    [PrincipalGroup.resource, namespace],
    [PrincipalGroup.resource, SYSTEM_NAMESPACE],
  ]
  for (const [resource, principalNamespace] of places) {
    const object = find(resource, principalNamespace, id)
    if (object !== undefined) return { resource, object }
  }
  return undefined
}

export function incarnationOf(find: PrincipalLookup, id: string, namespace?: string): string | undefined {
  return principalAt(find, id, namespace)?.object.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** Whether the record means the principal that has the id now. */
export function namesCurrentPrincipal(find: PrincipalLookup, record: Annotated, id: string): boolean {
  return currentPrincipalsOf(find, record, [id]).length > 0
}

/** Returns those of the ids whose present principal the record means. */
export function currentPrincipalsOf(find: PrincipalLookup, record: Annotated, ids: readonly string[]): string[] {
  const named = incarnationsNamedBy(record)
  const { namespace } = record.metadata
  return ids.filter((id) => named[id] === undefined || named[id] === incarnationOf(find, id, namespace))
}

/** False for our own disabled people and service accounts; those of other providers only show it in their tokens. */
export function isPrincipalEnabled(find: PrincipalLookup, id: string): boolean {
  const { spec } = (principalAt(find, id)?.object ?? {}) as { spec?: { isEnabled?: boolean } }
  return spec?.isEnabled !== false
}

/** Returns the annotation for the current principals, undefined if none is known; incarnations in `before` are kept. */
export function principalIncarnations(
  find: PrincipalLookup,
  ids: readonly string[],
  namespace: string | undefined,
  before: Readonly<Record<string, string>> = {},
): string | undefined {
  const known = ids.flatMap((id): [string, string][] => {
    const incarnation = before[id] ?? incarnationOf(find, id, namespace)
    return incarnation === undefined ? [] : [[id, incarnation]]
  })
  return known.length === 0 ? undefined : JSON.stringify(Object.fromEntries(known))
}
