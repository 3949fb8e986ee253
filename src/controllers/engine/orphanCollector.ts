import {
  BOUNDARY_LABEL,
  INCARNATION_ANNOTATION,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
} from '../../core/labels.ts'
import type { Log } from '../../core/log.ts'
import { type KubeObject, keyOf, type Resource, refOf, refOfKey } from '../../core/object.ts'
import { namespace as namespaces, secret } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Controller } from './controller.ts'
import type { Environment } from './environment.ts'
import { OWNER_INDEX, ownerKeyOf } from './ownership.ts'
import type { OtherClusters, Workspace } from './pass.ts'
import { checkProjection, NO_OTHER_CLUSTERS, resolveCluster } from './workloadLocation.ts'

type Orphan = { resource: Resource; object: KubeObject }

const ownerIncarnationOf = ({ metadata }: KubeObject) => metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
const incarnationOf = ({ metadata }: KubeObject) => metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''

/**
 * Removes leftovers in other clusters of objects that were deleted or run elsewhere, after somebody removed their
 * finalizer or the record of where they ran. On the platform's own cluster, garbage collection does this. Only
 * resources in `collectsOrphans` and the object's Secrets are removed, and only where the boundary is projected.
 */
export class OrphanCollector {
  readonly #controller: Controller
  readonly #records: Workspace
  readonly #others: OtherClusters
  readonly #log: Log
  readonly #workspaces = new Map<string, Workspace>()
  /** Clusters by key of the objects that run there: after a deletion only Secrets may remain, which no cache shows. */
  readonly #clusterByKey = new Map<string, string>()
  /** Keys with leftovers, even if a later object of the same name exists. */
  readonly #suspects = new Set<string>()

  constructor(controller: Controller, { records, others = NO_OTHER_CLUSTERS, log }: Environment) {
    this.#controller = controller
    this.#records = records
    this.#others = others
    this.#log = log.child({ controller: controller.name })
  }

  /** @returns the keys with leftovers in a cluster that has become reachable */
  opened(clusterId: string, workspace: Workspace): string[] {
    this.#workspaces.set(clusterId, workspace)
    const keys = this.#collectedResources(workspace)
      .flatMap((resource) => [...workspace.cache(resource).list()])
      .filter((child) => this.#isOrphan(child, clusterId))
      .flatMap((child) => ownerKeyOf(child, this.#controller.kind.resource) ?? [])
    for (const key of keys) this.#suspects.add(key)
    return [...new Set(keys)]
  }

  closed(clusterId: string): void {
    this.#workspaces.delete(clusterId)
  }

  /** Removes the leftovers of the key's object. @throws KubeError */
  async remove(key: string): Promise<void> {
    const { collectsOrphans, clusterOf, kind } = this.#controller
    if (collectsOrphans.length === 0 || this.#workspaces.size === 0) return
    const { namespace, name } = refOfKey(key)
    const object = this.#records.cache(kind.resource).get(namespace, name)
    const currentCluster = object && clusterOf?.(object, this.#records)
    const previousCluster = this.#clusterByKey.get(key)
    const isSuspect = this.#suspects.has(key) || object === undefined
    for (const [clusterId, workspace] of this.#workspaces) {
      if (clusterId === currentCluster && !isSuspect) continue
      const orphans = isSuspect ? this.#orphansOf(key, clusterId, workspace) : this.#childrenOf(object, workspace)
      const mayBeSecrets = previousCluster === clusterId && currentCluster !== clusterId
      if (orphans.length > 0 || mayBeSecrets) await this.#removeOrphans(key, clusterId, workspace, orphans)
    }
    this.#suspects.delete(key)
    if (currentCluster === undefined) this.#clusterByKey.delete(key)
    else this.#clusterByKey.set(key, currentCluster)
  }

  #collectedResources(workspace: Workspace): Resource[] {
    return this.#controller.collectsOrphans.filter((resource) => workspace.isServed(resource))
  }

  #orphansOf(key: string, clusterId: string, workspace: Workspace): Orphan[] {
    const { namespace } = refOfKey(key)
    const { kind } = this.#controller
    return this.#collectedResources(workspace).flatMap((resource) =>
      workspace
        .cache(resource)
        .list({ namespace })
        .filter((child) => ownerKeyOf(child, kind.resource) === key && this.#isOrphan(child, clusterId))
        .map((object) => ({ resource, object })),
    )
  }

  #childrenOf(object: KubeObject, workspace: Workspace): Orphan[] {
    const incarnation = incarnationOf(object)
    if (incarnation === '') return []
    return this.#collectedResources(workspace).flatMap((resource) =>
      workspace
        .cache(resource)
        .byIndex(OWNER_INDEX, incarnation)
        .map((child) => ({ resource, object: child })),
    )
  }

  #isOrphan(child: KubeObject, clusterId: string): boolean {
    const { kind } = this.#controller
    if (ownerIncarnationOf(child) === '' || child.metadata.labels?.[OWNER_KIND_LABEL] !== kind.kind) return false
    const owners = this.#records.cache(kind.resource)
    const { namespace, name } = refOfKey(ownerKeyOf(child, kind.resource) ?? '')
    const namedOwner = owners.get(namespace, name)
    if (namedOwner !== undefined && this.#isOwned(child, [namedOwner], clusterId)) return false
    return !this.#isOwned(child, owners.list({ namespace: child.metadata.namespace }), clusterId)
  }

  #isOwned(child: KubeObject, objects: readonly KubeObject[], clusterId: string): boolean {
    const owner = objects.find((object) => incarnationOf(object) === ownerIncarnationOf(child))
    return owner !== undefined && this.#controller.clusterOf?.(owner, this.#records) === clusterId
  }

  /** Deletes Secrets first: no cache finds them once the rest is deleted. */
  async #removeOrphans(
    key: string,
    clusterId: string,
    workspace: Workspace,
    orphans: readonly Orphan[],
  ): Promise<void> {
    const { namespace = '' } = refOfKey(key)
    if (!this.#mayRemove(clusterId, namespace)) return
    const { kind } = this.#controller
    // The cache may be stale: list from the API server before deciding what still runs.
    const { items } = await this.#records.client.list(kind.resource, { namespace })
    const secrets = (await secretsOf(workspace, kind.kind, namespace)).filter(
      (each) => ownerKeyOf(each, kind.resource) === key,
    )
    for (const { resource, object } of [...secrets.map((object) => ({ resource: secret, object })), ...orphans]) {
      if (object.metadata.deletionTimestamp !== undefined || this.#isOwned(object, items, clusterId)) continue
      await workspace.client.remove(resource, refOf(object), { uid: object.metadata.uid })
      const details = { clusterId, key, kind: resource.kind, name: keyOf(object) }
      this.#log.warn(details, 'Removed in another cluster what was left of an object that is gone or runs elsewhere.')
    }
  }

  /** A revoked agent is not trusted, and another platform may use the same cluster. */
  #mayRemove(clusterId: string, namespace: string): boolean {
    if (resolveCluster(clusterId, this.#records, this.#others).kind !== 'other cluster') return false
    const namespaceObject = this.#records.cache(namespaces).get(undefined, namespace)
    const boundaryId = namespaceObject?.metadata.labels?.[BOUNDARY_LABEL]
    if (boundaryId === undefined) return false
    return checkProjection(clusterId, { boundaryId }, namespace, this.#records).kind === 'done'
  }
}

async function secretsOf(workspace: Workspace, kind: string, namespace: string): Promise<readonly KubeObject[]> {
  try {
    const labelSelector = `${OWNER_KIND_LABEL}=${kind}`
    return (await workspace.client.list(secret, { namespace, labelSelector })).items
  } catch (error) {
    // The right to Secrets is removed with the namespace, and so are the Secrets.
    if (isKubeError(error, 'Forbidden')) return []
    throw error
  }
}
