import { permissionMissing } from '../../../core/errors.ts'
import { boundaryNamespace } from '../../../core/names.ts'
import { DeploymentSource } from '../../../crds/sources.ts'
import { boundaryScope } from '../../callers/visibility.ts'
import type { Context, Services } from '../../http/context.ts'
import { unprocessable } from '../sizing.ts'
import { vetSourceUrl } from './address.ts'
import { BUILD_ACTION } from './reporters.ts'

/**
 * Requires the right to use deployment sources, because the result of a build shows what their credentials open.
 *
 * @throws PlatformError FORBIDDEN
 */
export function requireUseOfSources({ services, caller }: Context, boundaryId: string): void {
  const scope = boundaryScope(boundaryId)
  if (!services.access.isAllowed(caller.principalId, BUILD_ACTION, scope)) throw permissionMissing(BUILD_ACTION, scope)
}

type Asking = {
  readonly boundaryId: string
  readonly services: Services
  readonly context: Context
  readonly previous: { readonly spec: object } | undefined
}

type Code = { deploymentSourceId?: string | undefined; repositoryUrl?: string | undefined }

/**
 * Refuses a repository that the platform may not call, and a source without the right to a token of it: the result of a
 * build shows what the source's credentials open.
 *
 * @throws PlatformError URL_NOT_ALLOWED, FORBIDDEN, REFERENCE_NOT_FOUND
 */
export function refuseSource(
  { deploymentSourceId: id, repositoryUrl }: Code,
  { services, boundaryId, context, previous }: Asking,
): void {
  const before = previous?.spec as Code | undefined
  const isMoved = repositoryUrl !== before?.repositoryUrl
  const own = services.sources.circuit.baseUrl
  const isOwn = own !== undefined && repositoryUrl?.startsWith(`${own.replace(/\/$/, '')}/`) === true
  if (repositoryUrl !== undefined && isMoved && !isOwn) vetSourceUrl(services, repositoryUrl, 'repositoryUrl')
  const isNew = id !== before?.deploymentSourceId
  if (id === undefined || (!isNew && !isMoved)) return
  requireUseOfSources(context, boundaryId)
  const ref = { namespace: boundaryNamespace(boundaryId), name: id }
  const source = services.records.peek(DeploymentSource, ref)
  // The deletion of a source would wait for a reference that is added only now.
  if (!isNew || (source !== undefined && source.metadata.deletionTimestamp === undefined)) return
  const message = `There is no deployment source "${id}" in the boundary.`
  throw unprocessable('REFERENCE_NOT_FOUND', 'deploymentSourceId', id, message)
}
