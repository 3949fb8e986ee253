import { type EnvironmentVariable, isSecretOutput, OUTPUTS, type ResourceOutput } from '../../contracts/references.ts'
import type { ActionName } from '../../core/actions.ts'
import { permissionMissing } from '../../core/errors.ts'
import type { Context, Services } from '../http/context.ts'

type Place = { readonly boundaryId: string; readonly resourceGroup: string }
type Asking = Place & { readonly services: Services; readonly context: Context }

/** Whether or not there is one: names must not tell. @throws PlatformError FORBIDDEN */
function require(action: string, collection: string, name: string, asking: Asking): void {
  const { boundaryId, resourceGroup, services, context } = asking
  const scope = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}/resources/${collection}/${name}`
  if (services.access.isAllowed(context.caller.principalId, action as ActionName, scope)) return
  throw permissionMissing(action as ActionName, scope)
}

/** Who refers to values of a vault may read them. @throws PlatformError FORBIDDEN */
export function refuseForeignVaults(vaults: Iterable<string>, asking: Asking): void {
  for (const vault of new Set(vaults)) require('secretvault/readSecrets', 'secretvaults', vault, asking)
}

/** Who refers to an output may read it. @throws PlatformError FORBIDDEN */
function refuseForeignOutput(reference: ResourceOutput, asking: Asking): void {
  const { action } = OUTPUTS[reference.collection]
  const verb = isSecretOutput(reference) ? 'readSecrets' : 'read'
  require(`${action}/${verb}`, reference.collection, reference.name, asking)
}

/** @throws PlatformError FORBIDDEN */
export function refuseForeignValues(
  variables: readonly Pick<EnvironmentVariable, 'secret' | 'output'>[],
  asking: Asking,
): void {
  refuseForeignVaults(
    variables.flatMap(({ secret }) => secret?.vaultName ?? []),
    asking,
  )
  for (const { output } of variables) if (output !== undefined) refuseForeignOutput(output, asking)
}
