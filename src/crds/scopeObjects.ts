import { SCOPE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type ObjectMeta, objectKey, type Resource, resourceId } from '../core/object.ts'
import type { Scope } from '../core/scope.ts'
import { Boundary } from './boundaries.ts'
import type { AnyKind } from './define.ts'
import { KINDS } from './index.ts'
import { ResourceGroup } from './resourcegroups.ts'

const GROUP_KINDS = KINDS.filter(({ placement }) => placement === 'group')
/** Kinds whose objects have scopes; parts of resources have scopes too. */
export const SCOPE_KINDS: readonly AnyKind[] = [Boundary, ResourceGroup, ...GROUP_KINDS]
const RESOURCES = new Map(GROUP_KINDS.map(({ segment, resource }) => [segment, resource]))

export type ScopeObject = { key: string; resource: Resource; namespace: string | undefined; name: string }

/** Returns the object of a scope; undefined for the root, and for collections that this platform does not serve. */
export function scopeObject(scope: Scope): ScopeObject | undefined {
  if (scope.level === 'root') return undefined
  const { boundaryId } = scope
  if (scope.level === 'boundary') return place(Boundary.resource, undefined, boundaryId)
  if (scope.level === 'resourceGroup')
    return place(ResourceGroup.resource, boundaryNamespace(boundaryId), scope.resourceGroup)
  const resource = RESOURCES.get(scope.collection)
  return resource === undefined
    ? undefined
    : place(resource, groupNamespace(boundaryId, scope.resourceGroup), scope.name)
}

function place(resource: Resource, namespace: string | undefined, name: string): ScopeObject {
  return { key: scopeObjectKey(resource, namespace, name), resource, namespace, name }
}

export function scopeObjectKey(resource: Resource, namespace: string | undefined, name: string): string {
  return `${resourceId(resource)}/${objectKey(namespace, name)}`
}

/** A boundary's namespace may only contain records about that boundary, the platform's only those about the root. */
export function isAllowedInNamespace(scope: Scope, namespace: string | undefined): boolean {
  if (scope.level === 'root') return namespace === SYSTEM_NAMESPACE
  return boundaryOfNamespace(namespace ?? '') === scope.boundaryId
}

type Grant = {
  readonly metadata: Pick<ObjectMeta, 'annotations'>
  readonly spec: { readonly scopeIncarnation?: string | undefined }
}

/**
 * Returns the incarnation of the object at a grant's scope: from its spec, or from what the controller noted for a
 * grant that kubectl or Git made without it. Below the root, an assignment without an incarnation has no effect.
 */
export function scopeIncarnationOf({ metadata, spec }: Grant): string | undefined {
  return spec.scopeIncarnation ?? metadata.annotations?.[SCOPE_INCARNATION_ANNOTATION]
}

/**
 * Whether the object at the scope was created after the grant, which was then for an earlier object or for none. Within
 * the same second the grant counts as one for the object, because an apply of both at once writes them so.
 */
export function isYoungerThanGrant(
  object: { readonly metadata: Pick<ObjectMeta, 'creationTimestamp'> },
  grant: { readonly metadata: Pick<ObjectMeta, 'creationTimestamp'> },
): boolean {
  const [made, granted] = [object, grant].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
  return !(made !== undefined && granted !== undefined && made <= granted)
}
