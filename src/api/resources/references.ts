import { type ReferencedRight, type Referring, referencedRights, vaultRights } from '../../contracts/references.ts'
import { permissionMissing } from '../../core/errors.ts'
import type { Context, Services } from '../http/context.ts'

type Place = { readonly boundaryId: string; readonly resourceGroup: string }
type Asking = Place & { readonly services: Services; readonly context: Context }

/** Whether or not there is such a thing: names must not tell. @throws PlatformError FORBIDDEN */
function requireAll(
  rights: readonly ReferencedRight[],
  { boundaryId, resourceGroup, services, context }: Asking,
): void {
  const group = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}`
  for (const right of rights) {
    const { action } = right
    const scope = 'collection' in right ? `${group}/resources/${right.collection}/${right.name}` : group
    if (!services.access.isAllowed(context.caller.principalId, action, scope)) throw permissionMissing(action, scope)
  }
}

/** Who refers to values of a vault may read them. @throws PlatformError FORBIDDEN */
export function refuseForeignVaults(vaults: Iterable<string>, asking: Asking): void {
  requireAll(vaultRights(vaults), asking)
}

/** Who refers to a value may read it. @throws PlatformError FORBIDDEN */
export function refuseForeignReferences(spec: Referring, asking: Asking): void {
  requireAll(referencedRights(spec), asking)
}
