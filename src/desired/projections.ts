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
  named: readonly string[] | undefined,
): { name: string; group: Group }[] {
  return groups
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((group) => ({ name: groupNamespace(boundaryId, group.metadata.name), group }))
    .filter(({ name }) => named === undefined || named.includes(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Reports named namespaces that belong to no group. REST refuses them; kubectl or a deleted group can leave them. */
export function unknownNamespaces(
  boundaryId: string,
  groups: readonly Group[],
  named: readonly string[] = [],
): ProjectedNamespace[] {
  const known = new Set(groups.map(({ metadata }) => groupNamespace(boundaryId, metadata.name)))
  const message = 'It is not the namespace of a group of this boundary. Take it out of spec.namespaces.'
  return named.filter((name) => !known.has(name)).map((namespace) => ({ namespace, state: 'Failed', message }))
}

/**
 * The group's namespace as on the platform's own cluster, but owned by the projection.
 *
 * @param mark from `projectionMark`
 */
export function projectedNamespace(boundaryId: string, group: string, mark: string): KubeObject {
  const home = groupNamespaceObject(boundaryId, group, '')
  const { [OWNER_KIND_LABEL]: _kind, [OWNER_NAME_LABEL]: _name, ...labels } = home.metadata.labels ?? {}
  return { ...home, metadata: { name: home.metadata.name, labels, annotations: { [PROJECTED_ANNOTATION]: mark } } }
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
  of: { boundaryId: string; clusterId: string; mark: string; incarnation: string },
): boolean {
  const incarnation = annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  return (
    annotations?.[PROJECTED_ANNOTATION] === of.mark &&
    labels?.[BOUNDARY_LABEL] === of.boundaryId &&
    labels[OWNER_KIND_LABEL] === BoundaryProjection.kind &&
    labels[OWNER_NAME_LABEL] === of.clusterId &&
    incarnation !== '' &&
    incarnation !== of.incarnation
  )
}

export function groupOfProjected(home: KubeObject | undefined): string {
  return home?.metadata.labels?.[GROUP_LABEL] ?? '?'
}
