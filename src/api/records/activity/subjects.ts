import type { After, ResourcePath } from '../../../adapters/activity/port.ts'
import { PREFIX } from '../../../core/labels.ts'
import { boundaryNamespace, groupNamespace, sha256 } from '../../../core/names.ts'
import type { KubeObject } from '../../../core/object.ts'
import { Boundary } from '../../../crds/boundaries.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { KINDS } from '../../../crds/index.ts'
import { ResourceGroup } from '../../../crds/resourcegroups.ts'
import { boundaryScope, groupScope, resourceScope } from '../../callers/visibility.ts'
import type { Records } from '../records.ts'

/** What resources are in has a record too, which is that of a resource of its own name. */
const PLACES: readonly AnyKind[] = [Boundary, ResourceGroup]

/** Kinds whose objects have a record of their own; what belongs to one of them stands in its record. */
const BY_SEGMENT: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.filter(
    (kind) =>
      PLACES.includes(kind) || (kind.placement === 'group' && kind.partOf === undefined && kind.isPart !== true),
  ).map((kind) => [kind.segment, kind]),
)

export function kindOfSegment(segment: string): AnyKind | undefined {
  return BY_SEGMENT.get(segment)
}

/** Whether writes of such objects are told of: in a record of their own, or in that of what they belong to. */
export function isTold(kind: AnyKind): boolean {
  return kind.placement === 'group' || PLACES.includes(kind)
}

/** Whether the audit log tells of such objects without their content: parts whose names say of what they are parts. */
export function isToldWithoutContent(kind: AnyKind): boolean {
  return isTold(kind) && kind.partOf !== undefined && 'nameOf' in kind.partOf
}

/** Where something stands, as far as its namespace tells. */
type Place = { readonly boundaryId: string; readonly resourceGroup?: string | null }

/**
 * The record of what is named so in a collection.
 *
 * @param place undefined for what stands in no namespace
 */
export function recordOf(collection: string, place: Place | undefined, name: string): ResourcePath | undefined {
  const own = { resourceType: collection, resourceName: name }
  if (collection === Boundary.segment) return { ...own, boundaryId: name, resourceGroup: '' }
  if (place === undefined) return undefined
  const { boundaryId, resourceGroup } = place
  if (collection === ResourceGroup.segment) return { ...own, boundaryId, resourceGroup: name }
  return resourceGroup ? { ...own, boundaryId, resourceGroup } : undefined
}

export function scopeOf({ boundaryId, resourceGroup, resourceType, resourceName }: ResourcePath): string {
  if (resourceType === Boundary.segment) return boundaryScope(boundaryId)
  if (resourceType === ResourceGroup.segment) return groupScope(boundaryId, resourceGroup)
  return resourceScope(boundaryId, resourceGroup, resourceType, resourceName)
}

export function isThere(records: Pick<Records, 'peek'>, resource: ResourcePath): boolean {
  return presentOf(records, resource) !== undefined
}

/** What has the record now; undefined if it is gone. */
export function presentOf(
  records: Pick<Records, 'peek'>,
  resource: ResourcePath,
): Pick<KubeObject, 'metadata'> | undefined {
  const { boundaryId, resourceGroup, resourceType, resourceName: name } = resource
  const kind = kindOfSegment(resourceType)
  const record = recordOf(resourceType, resource, name)
  if (kind === undefined || record?.boundaryId !== boundaryId || record.resourceGroup !== resourceGroup)
    return undefined
  return records.peek(kind, { ...namespaceOf(kind, resource), name })
}

function namespaceOf({ placement }: AnyKind, { boundaryId, resourceGroup }: ResourcePath): { namespace?: string } {
  if (placement === 'cluster') return {}
  return {
    namespace: placement === 'boundary' ? boundaryNamespace(boundaryId) : groupNamespace(boundaryId, resourceGroup),
  }
}

/** How a resource is after a write; undefined if the object does not tell. */
export function afterOf(object: unknown, isNew: boolean): After | undefined {
  const { metadata, spec } = (object ?? {}) as Partial<KubeObject> & { spec?: object }
  if (metadata?.uid === undefined || metadata.generation === undefined || spec === undefined) return undefined
  return { uid: metadata.uid, generation: metadata.generation, spec, labelling: labellingOf(metadata), isNew }
}

/** Labels and annotations, which may hold anything, as a digest: enough to see that they changed. */
function labellingOf({ labels = {}, annotations = {} }: KubeObject['metadata']): string {
  const entries = Object.entries({ ...labels, ...annotations })
  const own = entries.filter(([name]) => !name.startsWith(PREFIX) && !name.startsWith('kubectl.kubernetes.io/'))
  return own.length === 0 ? '' : sha256(JSON.stringify(own.sort())).slice(0, 16)
}

/** Of the refusals, those that say something of the resource; others are of the request alone. */
const REFUSALS: readonly number[] = [403, 409, 422]

/** Undefined for what nobody need know: a body that could not be read, a name that is not there. */
export function outcomeOf(status: number): 'Succeeded' | 'Refused' | 'Failed' | undefined {
  if (status < 100) return undefined
  if (status < 400) return 'Succeeded'
  if (REFUSALS.includes(status)) return 'Refused'
  return status >= 500 ? 'Failed' : undefined
}
