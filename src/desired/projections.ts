import {
  BOUNDARY_LABEL,
  GROUP_LABEL,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
  PROJECTED_ANNOTATION,
} from '../core/labels.ts'
import { groupNamespace, sha256 } from '../core/names.ts'
import { groupNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import { compareTexts } from '../core/textOrder.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import type { ResourceGroup } from '../crds/resourcegroups.ts'

export type ProjectedNamespace = {
  namespace: string
  state: 'Pending' | 'Applied' | 'Drifted' | 'Failed' | 'Removing'
  message?: string
  appliedAt?: string
  retainedVolumes?: string[]
}

type Group = ResourceGroup & { [key: string]: unknown }

/** Returns the projected namespaces: of all groups or of the named ones, never of a group that is being deleted. */
export function wantedNamespaces(
  boundaryId: string,
  groups: readonly Group[],
  chosen: readonly string[] | undefined,
): { name: string; group: Group }[] {
  return groups
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((group) => ({ name: groupNamespace(boundaryId, group.metadata.name), group }))
    .filter(({ name }) => chosen === undefined || chosen.includes(name))
    .sort((one, other) => compareTexts(one.name, other.name))
}

/** Reports named namespaces that belong to no group. REST refuses them; kubectl or a deleted group can leave them. */
export function unknownNamespaces(
  boundaryId: string,
  groups: readonly Group[],
  chosen: readonly string[] = [],
): ProjectedNamespace[] {
  const known = new Set(groups.map(({ metadata }) => groupNamespace(boundaryId, metadata.name)))
  const message = 'It is not the namespace of a group of this boundary. Take it out of spec.namespaces.'
  return chosen.filter((name) => !known.has(name)).map((namespace) => ({ namespace, state: 'Failed', message }))
}

/**
 * The group's namespace as on the platform's own cluster, but owned by the projection.
 *
 * @param mark from `projectionMark`
 */
export function projectedNamespace(boundaryId: string, group: string, mark: string): KubeObject {
  const base = groupNamespaceObject(boundaryId, group, '')
  const { [OWNER_KIND_LABEL]: _kind, [OWNER_NAME_LABEL]: _name, ...labels } = base.metadata.labels ?? {}
  return { ...base, metadata: { name: base.metadata.name, labels, annotations: { [PROJECTED_ANNOTATION]: mark } } }
}

/**
 * Identifies the projections of one incarnation of a boundary on one incarnation of a cluster. Hashed, so that readers
 * in that cluster learn no incarnation.
 *
 * @param boundary its incarnation
 * @param cluster incarnation of its record
 */
export function projectionMark(boundary: string, cluster: string): string {
  return sha256(`${boundary} ${cluster}`).slice(0, 32)
}

/** Whether an earlier projection of this boundary on this cluster created the namespace. */
export function isOfFormerProjection(
  { metadata: { labels, annotations } }: KubeObject,
  projection: { boundaryId: string; clusterId: string; mark: string; incarnation: string },
): boolean {
  const incarnation = annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  return (
    annotations?.[PROJECTED_ANNOTATION] === projection.mark &&
    labels?.[BOUNDARY_LABEL] === projection.boundaryId &&
    labels[OWNER_KIND_LABEL] === BoundaryProjection.kind &&
    labels[OWNER_NAME_LABEL] === projection.clusterId &&
    incarnation !== '' &&
    incarnation !== projection.incarnation
  )
}

export function groupOfProjected(namespaceObject: KubeObject | undefined): string {
  return namespaceObject?.metadata.labels?.[GROUP_LABEL] ?? '?'
}
