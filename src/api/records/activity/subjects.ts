import type { After, ResourcePath } from '../../../adapters/activity/port.ts'
import { PREFIX } from '../../../core/labels.ts'
import { groupNamespace, sha256 } from '../../../core/names.ts'
import type { KubeObject } from '../../../core/object.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { KINDS } from '../../../crds/index.ts'
import type { Records } from '../records.ts'

/** Kinds whose objects have a record of their own; what belongs to one of them stands in its record. */
const BY_SEGMENT: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.filter(({ placement, partOf, isPart }) => placement === 'group' && partOf === undefined && isPart !== true).map(
    (kind) => [kind.segment, kind],
  ),
)

export function kindOfSegment(segment: string): AnyKind | undefined {
  return BY_SEGMENT.get(segment)
}

export function isThere(records: Pick<Records, 'peek'>, resource: ResourcePath): boolean {
  const kind = kindOfSegment(resource.resourceType)
  const namespace = groupNamespace(resource.boundaryId, resource.resourceGroup)
  return kind !== undefined && records.peek(kind, { namespace, name: resource.resourceName }) !== undefined
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
