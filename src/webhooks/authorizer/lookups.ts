import {
  type PodWithSecrets,
  podSecretRights,
  type ReferringRevision,
  secretUsesOfPod,
} from '../../contracts/podSecretAccess.ts'
import { referencedRights } from '../../contracts/references.ts'
import { isRevisionOf, revisionOf } from '../../contracts/revisions.ts'
import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { boundaryOfNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { KINDS_WITH_VALUE_REFERENCES } from '../../crds/valueReferences.ts'
import { controllerRevision, pod } from '../../kube/builtin.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { GivenToPod, OwnerOfPod } from './podAccess.ts'
import type { OwnerOfPart, ScopeOfNamespace } from './question.ts'

type StoredRevision = KubeObject & { revision?: number; data?: unknown }
type Caches = { get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get' | 'subscribe'> }

/**
 * Looks up the boundary and the group of a namespace. The namespace of a group contains a hash that cannot be reversed,
 * so this indexes the groups as they are created and deleted. It follows our objects, not namespace labels, which may
 * outlive the group.
 */
export function followNamespaceScopes(caches: Caches): { scopeOfNamespace: ScopeOfNamespace; stop(): void } {
  const groups = new Map<string, { boundaryId: string; resourceGroup: string }>()
  const boundaries = caches.get(Boundary.resource)
  const stop = caches.get(ResourceGroup.resource).subscribe(
    ({ type, object: { metadata } }) => {
      const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
      if (boundaryId === undefined) return
      const namespace = groupNamespace(boundaryId, metadata.name)
      if (type === 'removed') groups.delete(namespace)
      else if (type === 'added') groups.set(namespace, { boundaryId, resourceGroup: metadata.name })
    },
    { replay: true },
  )
  return {
    scopeOfNamespace(namespace) {
      const boundaryId = boundaryOfNamespace(namespace)
      if (boundaryId === undefined) return groups.get(namespace)
      return boundaries.get(undefined, boundaryId) === undefined ? undefined : { boundaryId }
    },
    stop,
  }
}

/**
 * Returns the owner of a pod from its labels. Tenants can neither create pods nor set our labels. A pod that is not in
 * the cache yet has no owner.
 */
export function podOwners(caches: Caches): OwnerOfPod {
  const pods = caches.get(pod)
  return (namespace, name) => {
    const labels = pods.get(namespace, name)?.metadata.labels
    const [kind, owner] = [labels?.[OWNER_KIND_LABEL], labels?.[OWNER_NAME_LABEL]]
    if (kind === undefined || owner === undefined) return undefined
    const referring = KINDS_WITH_VALUE_REFERENCES[kind]
    if (referring === undefined) return { kind, name: owner }
    const spec = caches.get(referring.resource).get(namespace, owner)?.spec
    return {
      kind,
      name: owner,
      referencedRights: referencedRights(spec === undefined ? {} : referring.of(spec as object)),
    }
  }
}

/**
 * Returns the rights for what a pod was given, read from the pod and the revisions of its resource. Revisions are not
 * cached: few pods with secrets are entered. If the API server does not answer, the pod may have been given anything.
 */
export function givenToPods(caches: Caches, client: Pick<KubeClient, 'list'>): GivenToPod {
  const pods = caches.get<PodWithSecrets>(pod)
  return async (namespace, name) => {
    const found = pods.get(namespace, name)
    if (found === undefined) return []
    const { variables, files } = secretUsesOfPod(found)
    return podSecretRights(found, variables || files ? await revisionsOf(caches, client, found).catch(() => []) : [])
  }
}

async function revisionsOf(
  caches: Caches,
  client: Pick<KubeClient, 'list'>,
  { metadata: { namespace = '', labels = {}, creationTimestamp = '' } }: PodWithSecrets,
): Promise<ReferringRevision[]> {
  const [kind = '', name = ''] = [labels[OWNER_KIND_LABEL], labels[OWNER_NAME_LABEL]]
  const referring = KINDS_WITH_VALUE_REFERENCES[kind]
  const owner = referring && caches.get(referring.resource).get(namespace, name)?.metadata
  // The revisions are those of the existing resource, which may be a later namesake of the pod's resource.
  if (referring === undefined || owner === undefined || creationTimestamp < (owner.creationTimestamp ?? '')) return []
  const labelSelector = ownerLabelSelector(kind, name)
  const { items } = await client.list<StoredRevision>(controllerRevision, { namespace, labelSelector })
  return items
    .filter(({ metadata }) => isRevisionOf(metadata, owner))
    .flatMap((one) => revisionOf<object>(one) ?? [])
    .map(({ number, content }) => ({ number, refers: referring.of(content) }))
}

/** Returns the resource that an object is part of, read from the object itself. */
export function partOwners(caches: Caches): OwnerOfPart {
  return ({ resource, partOf }, namespace, name) => {
    if (partOf === undefined || !('field' in partOf)) return undefined
    const spec = caches.get(resource).get(namespace, name)?.spec as Record<string, unknown> | undefined
    const owner = spec?.[partOf.field]
    return typeof owner === 'string' ? owner : undefined
  }
}
