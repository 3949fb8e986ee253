import {
  BOUNDARY_LABEL,
  GROUP_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
  OWNER_NAMESPACE_ANNOTATION,
} from '../../core/labels.ts'
import { childName } from '../../core/names.ts'
import { type KubeObject, objectKey, ownerReferenceTo, type Resource } from '../../core/object.ts'
import type { ObjectScope } from './pass.ts'

/** The owner of the children of a pass. */
export type Owner = {
  object: KubeObject
  resource: Resource
  incarnation: string
  scope: ObjectScope
  /** Whether children are in the owner's own cluster, so that its garbage collector can follow a reference. */
  sameCluster: boolean
}

/** The desired child with its ownership metadata. The builder's labels and annotations stay. */
export function withOwner<T extends KubeObject>(desired: T, owner: Owner): T {
  const { metadata } = desired
  const { name, namespace } = owner.object.metadata
  // Deleting a namespace deletes its content, so only a finalizer does it, after checking the content.
  const referenced = desired.kind !== 'Namespace' && mayReference(metadata.namespace, owner)
  const elsewhere = namespace !== undefined && namespace !== metadata.namespace
  return {
    ...desired,
    metadata: {
      ...metadata,
      labels: { ...ownerLabels(owner, name), ...metadata.labels },
      annotations: {
        ...metadata.annotations,
        [OWNER_INCARNATION_ANNOTATION]: owner.incarnation,
        ...(elsewhere ? { [OWNER_NAMESPACE_ANNOTATION]: namespace } : {}),
      },
      ...(referenced ? { ownerReferences: [ownerReferenceTo(owner.object)] } : {}),
    },
  }
}

function ownerLabels({ object, scope }: Owner, name: string): Record<string, string> {
  return {
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [OWNER_KIND_LABEL]: object.kind,
    [OWNER_NAME_LABEL]: labelValue(name),
    ...(scope.boundaryId === undefined ? {} : { [BOUNDARY_LABEL]: scope.boundaryId }),
    ...(scope.resourceGroup === undefined ? {} : { [GROUP_LABEL]: scope.resourceGroup }),
  }
}

/** Label values have at most 63 characters; the owner reference or the incarnation still identifies the owner. */
function labelValue(name: string): string {
  return name.length <= 63 ? name : childName('long', name)
}

/** The garbage collector deletes a child whose reference crosses namespaces, or leads from cluster scope into one. */
function mayReference(childNamespace: string | undefined, { object, resource, sameCluster }: Owner): boolean {
  return sameCluster && (!resource.namespaced || object.metadata.namespace === childNamespace)
}

/**
 * Whether the object carries this owner's UID or incarnation. The UID suffices if somebody removed the annotation; the
 * incarnation suffices after a restore from backup, when every UID is new. Names prove nothing.
 */
export function belongsTo(
  object: KubeObject,
  owner: { object: Pick<KubeObject, 'metadata'>; incarnation: string },
): boolean {
  const uid = owner.object.metadata.uid
  if (uid !== undefined && object.metadata.ownerReferences?.some((reference) => reference.uid === uid)) return true
  return owner.incarnation !== '' && object.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === owner.incarnation
}

/** Returns the key of the object of this kind that owns `object`; undefined if nothing or another kind owns it. */
export function ownerKeyOf(object: KubeObject, kind: Resource): string | undefined {
  const { ownerReferences, annotations, labels, namespace } = object.metadata
  const reference = ownerReferences?.find(({ controller }) => controller === true)
  if (reference !== undefined) {
    const [group] = reference.apiVersion.split('/')
    if (reference.kind !== kind.kind || group !== kind.group) return undefined
    return objectKey(kind.namespaced ? namespace : undefined, reference.name)
  }
  const name = labels?.[OWNER_NAME_LABEL]
  if (annotations?.[OWNER_INCARNATION_ANNOTATION] === undefined || labels?.[OWNER_KIND_LABEL] !== kind.kind) {
    return undefined
  }
  if (name === undefined) return undefined
  return objectKey(kind.namespaced ? (annotations[OWNER_NAMESPACE_ANNOTATION] ?? namespace) : undefined, name)
}

/** Milliseconds within which a restore from backup, which goes by type, creates the owner of what it restored before. */
const OWNER_RESTORE_MS = 600_000

/**
 * Returns the milliseconds for which the owner of a bound object may still come. A restore drops owner references,
 * which every other bound object has.
 */
export function ownerRestoreMs({ metadata }: KubeObject, now: number): number {
  if ((metadata.ownerReferences ?? []).length > 0) return 0
  return Math.max(0, Date.parse(metadata.creationTimestamp ?? '') + OWNER_RESTORE_MS - now) || 0
}

/** The index by which children are found again: under their owner's uid and incarnation. */
export const OWNER_INDEX = 'owner'

export function ownerIndexKeys(object: KubeObject): readonly string[] {
  const incarnation = object.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION]
  const uids = object.metadata.ownerReferences?.map(({ uid }) => uid) ?? []
  return incarnation === undefined ? uids : [...uids, incarnation]
}
