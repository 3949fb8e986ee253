import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { isOurs, type KubeObject, type Resource, resourceId } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { namespace, secret, secretMetadata } from '../../kube/builtin.ts'
import type { CacheSet, ScopedCaches } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { CacheView, Controller, Workspace, WorkspaceName } from './controller.ts'
import { LOOKUP_INDEX, lookupKeys } from './lookups.ts'
import { OWNER_INDEX, ownerIndexKeys } from './ownership.ts'
import { PHASE_INDEX, phaseIndexKeys } from './phaseIndex.ts'
import {
  BINDING_HOLDER_INDEX,
  bindingHolderKeys,
  UNBOUND_PRINCIPAL_INDEX,
  unboundPrincipalKeys,
} from './principalIndex.ts'

/** A client and the caches that observe its writes: create the client with `observer: caches.observer()`. */
export type ClusterConnection = { client: KubeClient; caches: CacheSet }

/** Indexes for controllers, in every cache that they read. */
export const INDEXES = {
  [OWNER_INDEX]: ownerIndexKeys,
  [LOOKUP_INDEX]: lookupKeys,
  [PHASE_INDEX]: phaseIndexKeys,
  [UNBOUND_PRINCIPAL_INDEX]: unboundPrincipalKeys,
  [BINDING_HOLDER_INDEX]: bindingHolderKeys,
}

type Entry = Resource | { resource: Resource; in?: WorkspaceName }

export function resourceOf(entry: Entry): Resource {
  return 'resource' in entry ? entry.resource : entry
}

/**
 * Returns the side of an entry: the declared one, otherwise `records` for our kinds and the children's side for all
 * others.
 */
export function workspaceNameOf(entry: Entry, childrenIn: WorkspaceName): WorkspaceName {
  if ('resource' in entry && entry.in !== undefined) return entry.in
  return isOurs(resourceOf(entry)) ? 'records' : childrenIn
}

/** Returns the resources cached on one side, without duplicates. Secrets are watched per namespace instead. */
export function cachedResources(controllers: readonly Controller[], workspaceName: WorkspaceName): Resource[] {
  const wanted = new Map([[resourceId(namespace), namespace]])
  for (const { kind, observes, reads, childrenIn } of controllers) {
    for (const entry of [kind.resource, ...observes, ...reads]) {
      const resource = resourceOf(entry)
      if (workspaceNameOf(entry, childrenIn) === workspaceName) wanted.set(resourceId(resource), resource)
    }
  }
  wanted.delete(resourceId(secret))
  wanted.delete(resourceId(secretMetadata))
  return [...wanted.values()]
}

/** Adds missing caches, and returns the controllers' view of them. */
export function openWorkspace({ client, caches }: ClusterConnection, resources: readonly Resource[]): Workspace {
  for (const resource of resources) {
    if (caches.has(resource)) continue
    if (resource.optional === true) caches.addOptional(resource, { indexes: INDEXES })
    else caches.add(resource, { indexes: INDEXES })
  }
  const secrets = caches.addScoped(secret, { indexes: INDEXES, labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY}` })
  const metadata = caches.addScoped(secretMetadata)
  caches.get(namespace).subscribe(({ type, object }) => {
    if (type !== 'removed') return
    for (const scoped of [secrets, metadata]) void scoped.removeNamespace(object.metadata.name)
  })
  return {
    client,
    cache: <T extends KubeObject>(one: Resource | AnyKind): CacheView<T> => {
      const resource = resourceOf(one)
      return caches.optional<T>(resource) ?? caches.get<T>(resource)
    },
    isCached: (resource) => caches.has(resource),
    isDefined: (resource) => caches.optional(resource)?.defined ?? true,
    isServed: (resource) => caches.optional(resource)?.served ?? true,
    onServed: (resource, listener) => caches.optional(resource)?.onServed(listener) ?? (() => {}),
    secrets: (name) => syncedSecrets(secrets, name),
    subscribeSecrets: (handler) => secrets.subscribe(handler),
    onSecretsSynced: (listener) => secrets.onSynced(listener),
    watchSecretMetadata: (name) => void metadata.addNamespace(name),
    subscribeSecretMetadata: (handler) => metadata.subscribe(handler),
  }
}

function syncedSecrets(secrets: ScopedCaches, name: string): CacheView | undefined {
  const cache = secrets.addNamespace(name)
  return cache.synced ? cache : undefined
}
