import type { ResourcePath, WrittenState } from '../../../adapters/activity/port.ts'
import { PREFIX } from '../../../core/labels.ts'
import { boundaryNamespace, groupNamespace, sha256 } from '../../../core/names.ts'
import type { KubeObject } from '../../../core/object.ts'
import { Boundary } from '../../../crds/boundaries.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { KINDS } from '../../../crds/index.ts'
import { ResourceGroup } from '../../../crds/resourcegroups.ts'
import { boundaryScope, groupScope, resourceScope } from '../../callers/visibility.ts'
import type { Records } from '../records.ts'

/** Boundaries and groups have a record as well, like a resource of their own name. */
const CONTAINERS: readonly AnyKind[] = [Boundary, ResourceGroup]

/** Kinds whose objects have a record of their own; their parts appear in that record. */
const KINDS_BY_SEGMENT: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.filter(
    (kind) =>
      CONTAINERS.includes(kind) || (kind.placement === 'group' && kind.partOf === undefined && kind.isPart !== true),
  ).map((kind) => [kind.segment, kind]),
)

export function kindOfSegment(segment: string): AnyKind | undefined {
  return KINDS_BY_SEGMENT.get(segment)
}

/** Whether writes to such objects are recorded: in a record of their own, or in that of the object they belong to. */
export function isActivityRecorded(kind: AnyKind): boolean {
  return kind.placement === 'group' || CONTAINERS.includes(kind)
}

/** Whether the audit log can leave out the content of such objects: parts whose name says what they belong to. */
export function isRecordedWithoutContent(kind: AnyKind): boolean {
  return isActivityRecorded(kind) && kind.partOf !== undefined && 'nameOf' in kind.partOf
}

/** The location of an object, as far as its namespace tells. */
type Place = { readonly boundaryId: string; readonly resourceGroup?: string | null }

/**
 * Returns the path of the record of a named object.
 *
 * @param place undefined for objects without a namespace
 */
export function resourcePathOf(collection: string, place: Place | undefined, name: string): ResourcePath | undefined {
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

export function resourceExists(records: Pick<Records, 'peek'>, resource: ResourcePath): boolean {
  return currentObjectOf(records, resource) !== undefined
}

/** Returns the object that the record is about; undefined if it is gone. */
export function currentObjectOf(
  records: Pick<Records, 'peek'>,
  resource: ResourcePath,
): Pick<KubeObject, 'metadata'> | undefined {
  const { boundaryId, resourceGroup, resourceType, resourceName: name } = resource
  const kind = kindOfSegment(resourceType)
  const record = resourcePathOf(resourceType, resource, name)
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

/** Returns the state of a resource after a write; undefined if the object is incomplete. */
export function writtenStateOf(object: unknown, isNew: boolean): WrittenState | undefined {
  const { metadata, spec } = (object ?? {}) as Partial<KubeObject> & { spec?: object }
  if (metadata?.uid === undefined || metadata.generation === undefined || spec === undefined) return undefined
  return { uid: metadata.uid, generation: metadata.generation, spec, labelling: labelsDigest(metadata), isNew }
}

/** Labels and annotations, which may hold anything, as a digest: enough to see that they changed. */
function labelsDigest({ labels = {}, annotations = {} }: KubeObject['metadata']): string {
  const entries = Object.entries({ ...labels, ...annotations })
  const own = entries.filter(([name]) => !name.startsWith(PREFIX) && !name.startsWith('kubectl.kubernetes.io/'))
  return own.length === 0 ? '' : sha256(JSON.stringify(own.sort())).slice(0, 16)
}

/** Refusals that concern the resource; others concern the request only. */
const REFUSAL_STATUSES: readonly number[] = [403, 409, 422]

/** Undefined for what is not recorded, such as an unreadable body or an unknown name. */
export function outcomeOf(status: number): 'Succeeded' | 'Refused' | 'Failed' | undefined {
  if (status < 100) return undefined
  if (status < 400) return 'Succeeded'
  if (REFUSAL_STATUSES.includes(status)) return 'Refused'
  return status >= 500 ? 'Failed' : undefined
}
