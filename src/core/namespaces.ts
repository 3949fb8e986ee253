import {
  BOUNDARY_LABEL,
  GROUP_LABEL,
  INCARNATION_ANNOTATION,
  LEAVING_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
  OWNER_NAMESPACE_ANNOTATION,
  RESERVED_LABEL,
} from './labels.ts'
import { boundaryNamespace, groupNamespace } from './names.ts'
import type { KubeObject } from './object.ts'

/** Pod Security Standards, level restricted, for the version of the server (KEP-2579). */
export const RESTRICTED_POD_SECURITY = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/enforce-version': 'latest',
  'pod-security.kubernetes.io/warn': 'restricted',
} as const

/**
 * Returns the namespace `boundary-<id>` of a stored boundary. It has no owner reference: on a foreground deletion, the
 * garbage collector would delete it before the boundary, and so before its content was checked. The boundary's
 * finalizer deletes it.
 *
 * @param boundary as returned by the API server, with uid and incarnation
 */
export function boundaryNamespaceObject(boundary: KubeObject): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: boundaryNamespace(boundary.metadata.name),
      labels: {
        ...RESTRICTED_POD_SECURITY,
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [BOUNDARY_LABEL]: boundary.metadata.name,
        [OWNER_KIND_LABEL]: boundary.kind,
        [OWNER_NAME_LABEL]: boundary.metadata.name,
      },
      annotations: { [OWNER_INCARNATION_ANNOTATION]: boundary.metadata.annotations?.[INCARNATION_ANNOTATION] ?? '' },
    },
  }
}

/** Labels and annotations that an administrator wants on each namespace of the platform's tenants. */
export type NamespaceMetadata = {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Adds them to a namespace, whose own ones win. */
export function withNamespaceMetadata(namespace: KubeObject, { labels, annotations }: NamespaceMetadata): KubeObject {
  const { metadata } = namespace
  return {
    ...namespace,
    metadata: {
      ...metadata,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
  }
}

/** Labels the namespace of a boundary or group that is being deleted, so that nothing new is placed in it. */
export function withLeavingLabel(namespace: KubeObject): KubeObject {
  const { metadata } = namespace
  return { ...namespace, metadata: { ...metadata, labels: { ...metadata.labels, [LEAVING_LABEL]: 'true' } } }
}

/**
 * Returns the namespace of a resource group's resources. A namespace cannot be owned by a namespaced object, so the
 * group's incarnation identifies its owner, and the group's finalizer deletes it.
 */
export function groupNamespaceObject(boundaryId: string, group: string, incarnation: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: groupNamespace(boundaryId, group),
      labels: {
        ...RESTRICTED_POD_SECURITY,
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [BOUNDARY_LABEL]: boundaryId,
        [GROUP_LABEL]: group,
        [OWNER_KIND_LABEL]: 'ResourceGroup',
        [OWNER_NAME_LABEL]: group,
      },
      annotations: {
        [OWNER_INCARNATION_ANNOTATION]: incarnation,
        [OWNER_NAMESPACE_ANNOTATION]: boundaryNamespace(boundaryId),
      },
    },
  }
}

export type Reservation = { readonly for: 'Boundary' | 'ResourceGroup'; readonly name: string }

/** Returns a namespace for a Git tool to create before its boundary or group, so that one tree can contain both. */
export function reservedNamespaceObject({ for: kind, name }: Reservation): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: { [RESERVED_LABEL]: kind },
      // The namespace is deleted with its owner. A tool that tried to prune it would be refused.
      annotations: {
        'kustomize.toolkit.fluxcd.io/prune': 'disabled',
        'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
      },
    },
  }
}

/** Whether the namespace is reserved for an owner of this kind and free. Only administrators can set the label. */
export function isReservedFor(kind: Reservation['for'], { metadata }: KubeObject): boolean {
  const isFree = metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === undefined
  return isFree && metadata.labels?.[RESERVED_LABEL] === kind && metadata.labels?.[BOUNDARY_LABEL] === undefined
}
