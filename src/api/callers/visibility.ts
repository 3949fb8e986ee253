import type { ActionName } from '../../core/actions.ts'
import { notFound, permissionMissing } from '../../core/errors.ts'
import { parseScope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { Access, Context, Services } from '../http/context.ts'
import { type Authorization, checkedByHandler } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { findBoundary } from '../resources/find.ts'
import { holdsNow } from './holdsNow.ts'

export type BoundaryRecord = RecordOf<typeof Boundary>

export function boundaryScope(boundaryId: string): string {
  return `/boundaries/${boundaryId}`
}

export function groupScope(boundaryId: string, group: string): string {
  return `${boundaryScope(boundaryId)}/resourcegroups/${group}`
}

export function resourceScope(boundaryId: string, group: string, collection: string, name: string): string {
  return `${groupScope(boundaryId, group)}/resources/${collection}/${name}`
}

/**
 * Returns the boundaries at which the principal holds the action. Starts from the grants instead of all boundaries if
 * it can, so that a caller who may see three of ten thousand pays for three.
 */
export async function boundariesWith(context: Context, action: ActionName): Promise<readonly BoundaryRecord[]> {
  const { services, caller, fresh } = context
  const { granted } = services.access.scopesWith(caller.principalId, action)
  if (granted.length === 0) return []
  const isHeldAt = ({ metadata: { name } }: BoundaryRecord) =>
    services.access.isAllowed(caller.principalId, action, boundaryScope(name))
  if (granted.includes('/')) return (await services.records.list(Boundary, {}, { fresh })).filter(isHeldAt)
  const found = await Promise.all(
    granted.map((text) => {
      const scope = parseScope(text)
      return scope?.level === 'boundary'
        ? services.records.get(Boundary, { name: scope.boundaryId }, { fresh })
        : undefined
    }),
  )
  return found.filter((boundary) => boundary !== undefined).filter(isHeldAt)
}

/** Whether the principal may act, after asking the API server if need be. For a handler's additional checks. */
export async function isAllowedNow(
  { access }: Pick<Services, 'access'>,
  principalId: string,
  action: string,
  scope: string,
): Promise<boolean> {
  return holdsNow(access, principalId, scope, () => access.isAllowed(principalId, action, scope))
}

/**
 * Checks the action at a scope that the body names, below the scope of the route: a deny may apply there.
 *
 * @throws PlatformError FORBIDDEN, even if nothing exists there; never for an invalid scope, where nothing can exist
 */
export async function requireActionBelow(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  action: ActionName,
  scope: string,
): Promise<void> {
  if (parseScope(scope) === undefined) return
  if (!(await isAllowedNow(services, caller.principalId, action, scope))) throw permissionMissing(action, scope)
}

/** Whether the principal may know of the boundary: an assignment or a trust reaches into it. */
export function isVisible(
  access: Pick<Access, 'boundariesOf' | 'permissionsAt'>,
  principalId: string,
  boundaryId: string,
): boolean {
  const boundaries = access.boundariesOf(principalId)
  if (boundaries.everywhere || boundaries.boundaryIds.includes(boundaryId)) return true
  return access.permissionsAt(principalId, boundaryScope(boundaryId)).length > 0
}

/** Declares the authorization of routes that call `findVisibleBoundary`, and what they show. */
export const visibleBoundaryAuth = (shown = ''): Authorization =>
  checkedByHandler(`a role in the boundary${shown && `; shows ${shown}`}`)

/**
 * Returns the boundary of a route that requires nothing but a sign-in.
 *
 * @throws PlatformError NOT_FOUND, in the same words for a boundary that is missing and one that the caller may not see
 */
export async function findVisibleBoundary(context: Context, boundaryId: string): Promise<BoundaryRecord> {
  const { services, caller } = context
  const { principalId } = caller
  const isSeen = () => isVisible(services.access, principalId, boundaryId)
  if (!(await holdsNow(services.access, principalId, boundaryScope(boundaryId), isSeen)))
    throw notFound(`Boundary "${boundaryId}"`)
  return findBoundary(context, boundaryId, context)
}
