import { SCOPE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type ObjectMeta, objectKey, type Resource, resourceId } from '../core/object.ts'
import type { Scope } from '../core/scope.ts'
import { Boundary } from './boundaries.ts'
import type { AnyKind } from './define.ts'
import { KINDS } from './index.ts'
import { ResourceGroup } from './resourcegroups.ts'

const IN_GROUPS = KINDS.filter(({ placement }) => placement === 'group')
/** Whatever a scope may be of: parts of resources have scopes too. */
export const SCOPE_KINDS: readonly AnyKind[] = [Boundary, ResourceGroup, ...IN_GROUPS]
const RESOURCES = new Map(IN_GROUPS.map(({ segment, resource }) => [segment, resource]))

export type ScopeObject = { key: string; resource: Resource; namespace: string | undefined; name: string }

/** The object that a scope is of; undefined for the root and for collections that are not built. */
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

/** A boundary's namespace may speak of that boundary only, the platform's of the root only. */
export function mayStandIn(scope: Scope, namespace: string | undefined): boolean {
  if (scope.level === 'root') return namespace === SYSTEM_NAMESPACE
  return boundaryOfNamespace(namespace ?? '') === scope.boundaryId
}

type Grant = {
  readonly metadata: Pick<ObjectMeta, 'annotations'>
  readonly spec: { readonly scopeIncarnation?: string | undefined }
}

/**
 * The life of the object at the scope that a grant is of: what its spec says, else what the controller wrote down for a
 * grant that kubectl or Git made without it. Below the root an assignment of no life counts for nothing.
 */
export function scopeIncarnationOf({ metadata, spec }: Grant): string | undefined {
  return spec.scopeIncarnation ?? metadata.annotations?.[SCOPE_INCARNATION_ANNOTATION]
}

/**
 * Whether the object at the scope came after the grant, so that the grant was of an earlier one, or of none. Of the same
 * second the grant is taken to be of the object: an apply of both at once writes them so.
 */
export function isYounger(
  object: { readonly metadata: Pick<ObjectMeta, 'creationTimestamp'> },
  grant: { readonly metadata: Pick<ObjectMeta, 'creationTimestamp'> },
): boolean {
  const [made, granted] = [object, grant].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
  return !(made !== undefined && granted !== undefined && made <= granted)
}
