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
 * Which life of a principal a record means. An id can come again: a person whom a tenant's identity provider describes
 * has one that follows from there, and kubectl may choose any. What was given to the one who was deleted is not meant
 * for the one who comes after, so records carry the incarnation of each principal that they name.
 */

/** Kinds whose records name principals. */
const NAMING: ReadonlySet<string> = new Set(
  [RoleAssignment, DenyAssignment, JitRequest, PrincipalGroup, BlueprintExecution, Boundary, MemberInvitation].map(
    ({ kind }) => kind,
  ),
)

/** Where principals have a record of ours; with Keycloak people have none, and their ids never come again. */
export const PRINCIPAL_RESOURCES: readonly Resource[] = [
  PlatformUser.resource,
  PlatformClient.resource,
  PrincipalGroup.resource,
]

type Naming = {
  principalId?: string | undefined
  startedBy?: string
  invitedBy?: string
  initialOwner?: { readonly principalId: string } | undefined
  excludedPrincipalIds?: readonly string[]
  memberIds?: readonly string[]
}

/** The principals that a record of the kind names; none for kinds that name nobody. */
export function principalsNamedBy({ kind }: Pick<AnyKind, 'kind'>, spec: object): string[] {
  if (!NAMING.has(kind)) return []
  const { principalId, startedBy, invitedBy, initialOwner, excludedPrincipalIds = [], memberIds = [] } = spec as Naming
  const named = [principalId, startedBy, invitedBy, initialOwner?.principalId].filter((id) => id !== undefined)
  return [...named, ...excludedPrincipalIds, ...memberIds]
}

type Annotated = { readonly metadata: Pick<ObjectMeta, 'annotations' | 'namespace'> }

/** The incarnations that a record was written for, by the principal's id; one without any counts for whoever has the id. */
export function incarnationsNamedBy({ metadata }: Annotated): Readonly<Record<string, string>> {
  const text = metadata.annotations?.[PRINCIPAL_INCARNATIONS_ANNOTATION]
  if (text === undefined) return {}
  try {
    return JSON.parse(text) as Record<string, string>
  } catch {
    return {}
  }
}

/** How a present principal is found. */
export type PrincipalLookup = (resource: Resource, namespace: string, name: string) => KubeObject | undefined

/** The principal of the id as a record in the namespace sees it: a person, a service account, or a group that counts there. */
export function principalAt(find: PrincipalLookup, id: string, namespace = SYSTEM_NAMESPACE) {
  const places: [Resource, string][] = [
    [PlatformUser.resource, SYSTEM_NAMESPACE],
    [PlatformClient.resource, SYSTEM_NAMESPACE],
    [PrincipalGroup.resource, namespace],
    [PrincipalGroup.resource, SYSTEM_NAMESPACE],
  ]
  for (const [resource, home] of places) {
    const object = find(resource, home, id)
    if (object !== undefined) return { resource, object }
  }
  return undefined
}

export function incarnationOf(find: PrincipalLookup, id: string, namespace?: string): string | undefined {
  return principalAt(find, id, namespace)?.object.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** Whether the record means the principal of that id who is there now. */
export function meansPresent(find: PrincipalLookup, record: Annotated, id: string): boolean {
  const named = incarnationsNamedBy(record)[id]
  return named === undefined || named === incarnationOf(find, id, record.metadata.namespace)
}

/** False for people and service accounts of ours that are disabled: what others know of theirs shows in tokens alone. */
export function isEnabled(find: PrincipalLookup, id: string): boolean {
  const { spec } = (principalAt(find, id)?.object ?? {}) as { spec?: { isEnabled?: boolean } }
  return spec?.isEnabled !== false
}

/** The annotation for principals of now, without any if none is known; what `before` says of an id stays. */
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
