import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import type { Observed, Pass } from './engine/controller.ts'

/** What a tenant has, by the id that its objects name. */
export type TenantOf = (object: KubeObject) => string

/** A tenant that comes, or comes anew, concerns what names it. */
export function tenantOfKind(kind: AnyKind, tenantOf: TenantOf): Observed {
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
 * Ties what a tenant has to it by an owner reference, so that it goes with the tenant, by whatever door that goes: nobody is to
 * sign in for a tenant that is gone, nor to keep its domains from others.
 */
export function followTenant(tenantOf: TenantOf) {
  return async function followTenant({
    object,
    records,
    kind,
  }: Pick<Pass, 'object' | 'records' | 'kind'>): Promise<Outcome> {
    const own = object as KubeObject
    const tenant = records.cache(PlatformTenant).get(undefined, tenantOf(own))
    const { uid, resourceVersion, ownerReferences = [] } = own.metadata
    if (tenant?.metadata.uid === undefined || ownerReferences.some((owner) => owner.uid === tenant.metadata.uid))
      return done()
    const { apiVersion, kind: word } = PlatformTenant
    // One of an earlier life would have the garbage collector take it for the wrong reason.
    const others = ownerReferences.filter((owner) => owner.kind !== word)
    const reference = { apiVersion, kind: word, name: tenant.metadata.name, uid: tenant.metadata.uid }
    const patch = { metadata: { ownerReferences: [...others, reference] } }
    await records.client.mergePatch(kind.resource, refOf(own), patch, { uid, resourceVersion })
    return done()
  }
}
