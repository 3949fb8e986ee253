import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import type { Observed, Pass } from './engine/controller.ts'

/** Returns the id of the tenant that an object belongs to. */
export type TenantOf = (object: KubeObject) => string

/** Wakes a tenant's objects when the tenant is created or re-created. */
export function tenantObserver(kind: AnyKind, tenantOf: TenantOf): Observed {
  return {
    resource: PlatformTenant.resource,
    in: 'records',
    relevant: ({ metadata }) => metadata.uid,
    keysOf: ({ metadata }, records) =>
      records
        .cache(kind.resource)
        .list()
        .filter((one) => tenantOf(one) === metadata.name)
        .map(keyOf),
  }
}

/**
 * Sets the tenant as owner, so that the object is deleted with it, however the tenant is deleted: nobody must sign in
 * for a deleted tenant, and its domains must become free.
 */
export function ownedByTenant(tenantOf: TenantOf) {
  return async function ownedByTenant({
    object,
    records,
    kind,
  }: Pick<Pass, 'object' | 'records' | 'kind'>): Promise<Outcome> {
    const own = object as KubeObject
    const tenant = records.cache(PlatformTenant).get(undefined, tenantOf(own))
    const { uid, resourceVersion, ownerReferences = [] } = own.metadata
    if (tenant?.metadata.uid === undefined || ownerReferences.some((owner) => owner.uid === tenant.metadata.uid))
      return done()
    const { apiVersion, kind: kindName } = PlatformTenant
    // A reference to an earlier incarnation would make the garbage collector delete it.
    const others = ownerReferences.filter((owner) => owner.kind !== kindName)
    const reference = { apiVersion, kind: kindName, name: tenant.metadata.name, uid: tenant.metadata.uid }
    const patch = { metadata: { ownerReferences: [...others, reference] } }
    await records.client.mergePatch(kind.resource, refOf(own), patch, { uid, resourceVersion })
    return done()
  }
}
