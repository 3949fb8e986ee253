import { permissionMissing } from '../../../core/errors.ts'
import { boundaryNamespace } from '../../../core/names.ts'
import { DeploymentSource } from '../../../crds/sources.ts'
import { boundaryScope } from '../../callers/visibility.ts'
import type { Context, Services } from '../../http/context.ts'
import { unprocessable } from '../sizing.ts'

/** What records of all kinds that are deployed have in common. */

export const CERTIFICATE_STATES = ['NotRequested', 'Issuing', 'Valid', 'Expiring', 'Expired', 'Failed'] as const

type Asking = {
  readonly boundaryId: string
  readonly services: Services
  readonly context: Context
  readonly previous: { readonly spec: object } | undefined
}

/** Who builds with the credentials of a source may read it. @throws PlatformError FORBIDDEN, REFERENCE_NOT_FOUND */
export function refuseSource(
  { deploymentSourceId: id }: { deploymentSourceId?: string | undefined },
  { services, boundaryId, context, previous }: Asking,
): void {
  if (id === undefined || id === (previous?.spec as { deploymentSourceId?: string } | undefined)?.deploymentSourceId)
    return
  const action = 'kernel/deployments/read'
  const scope = boundaryScope(boundaryId)
  if (!services.access.isAllowed(context.caller.principalId, action, scope)) throw permissionMissing(action, scope)
  if (services.records.peek(DeploymentSource, { namespace: boundaryNamespace(boundaryId), name: id }) !== undefined)
    return
  throw unprocessable(
    'REFERENCE_NOT_FOUND',
    'deploymentSourceId',
    id,
    `There is no deployment source "${id}" in the boundary.`,
  )
}
