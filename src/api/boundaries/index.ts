import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { ACTIONS } from '../../core/actions.ts'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { boundaryNamespaceObject } from '../../core/namespaces.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { type BoundaryRecord, boundariesWith, groupScope } from '../callers/visibility.ts'
import { acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import { tenantsOfCreator } from '../people/tenants.ts'
import { withoutAbsent } from '../records/specs.ts'
import { ListConfigDto, pagedListOf } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { namedHolders } from '../resources/holders.ts'
import { listConfig } from '../resources/listConfig.ts'
import { pagedParts } from '../resources/pages.ts'
import { BoundaryQuotaBody } from '../resources/quotaRecord.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withTenantLock } from '../rules/tenants.ts'
import { BoundaryBody, BoundaryDto, boundaryDto, boundaryShape, shownBoundary } from './record.ts'

async function createBoundary(context: Context<string, unknown, z.output<typeof BoundaryBody>>) {
  const { services, caller, body, log } = context
  const { object } = await inTenantOfCreator(context, (tenantId) =>
    services.records.create(Boundary, {
      name: randomUUID(),
      spec: {
        displayName: body.displayName,
        ...(tenantId === undefined ? {} : { tenantId }),
        initialOwner: { principalId: caller.principalId, principalType: caller.principalType },
      },
      caller,
      // Set at creation: a boundary deleted before its controller saw it would leave its namespace behind.
      finalizers: [FINALIZER],
    }),
  )
  try {
    await services.namespaces.ensure(boundaryNamespaceObject(object))
  } catch (error) {
    // The boundary is stored, so an error would make the caller retry and create a second one. The controller creates
    // the namespace.
    log.warn({ boundaryId: object.metadata.name, reason: messageOf(error) }, 'The namespace of a new boundary is late.')
  }
  return created(shownBoundary(context, object), { etag: etagOf(object) })
}

/** Skips tenants that are deleted in the meantime. */
async function inTenantOfCreator<Result>(
  { services, caller }: Context,
  make: (tenantId: string | undefined) => Promise<Result>,
): Promise<Result> {
  for (const tenantId of await tenantsOfCreator(services, caller)) {
    const made = await withTenantLock(services, tenantId, () => make(tenantId))
    if (made !== undefined) return made
  }
  return make(undefined)
}

/** @throws PlatformError BOUNDARY_NOT_EMPTY, NOT_FOUND, CONFLICT */
async function deleteBoundary(context: Context<'boundaryId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId } = parameters
  await findBoundary(context, boundaryId)
  const namespace = boundaryNamespace(boundaryId)
  // Read from the API server, to include what another replica has just accepted.
  const groups = await services.records.list(ResourceGroup, { namespace }, { fresh: true })
  if (groups.length > 0) {
    const isRead = (name: string) =>
      services.access.isAllowed(caller.principalId, 'resourcegroups/read', groupScope(boundaryId, name))
    const shown = groups.map(({ metadata }) => metadata.name).filter(isRead)
    const { usedBy, words } = namedHolders(shown.sort(), groups.length)
    const resourceGroups = usedBy
    const message = `Boundary "${boundaryId}" still has resource groups: delete them first.${words}`
    throw new PlatformError('BOUNDARY_NOT_EMPTY', message, { resourceGroups })
  }
  const { isGone } = await services.records.remove(Boundary, { name: boundaryId }, { caller, ifMatch })
  return isGone && !(await services.namespaces.exists(namespace)) ? noContent() : acceptedEmpty()
}

/** Whoever may read some boundary may see the list configuration. */
function mayReadAnyBoundary(principalId: string, { access }: Services): boolean {
  return access.scopesWith(principalId, 'boundaries/read').granted.length > 0
}

async function changeBoundary(context: Context, fields: Partial<BoundaryRecord['spec']>) {
  const { services, caller, ifMatch, parameters } = context
  const change = (stored: BoundaryRecord) => {
    refuseWhileDeleting(stored)
    return { ...stored.spec, ...fields }
  }
  const ref = { name: parameters.boundaryId ?? '' }
  const { object } = await services.records.update(Boundary, ref, { caller, ifMatch, change })
  return ok(shownBoundary(context, object), { etag: etagOf(object) })
}

export const boundaryRoutes: readonly RouteDraft[] = [
  route('GET', '/boundaries', {
    auth: checkedByHandler('a sign-in; shows boundaries at which the caller has `boundaries/read`'),
    summary: 'The boundaries that the caller may read',
    list: boundaryShape,
    reply: pagedListOf(BoundaryDto),
    handler: async (context) =>
      pagedParts(await boundariesWith(context, 'boundaries/read'), context.list, boundaryShape, (boundary) =>
        boundaryDto(context, boundary),
      ),
  }),
  route('POST', '/boundaries', {
    auth: action('boundaries/create'),
    scope: 'root',
    summary: 'Create a boundary; the caller becomes its Owner',
    body: BoundaryBody.meta({ id: 'CreateBoundaryRequest' }),
    example: { displayName: 'Acme' },
    reply: BoundaryDto,
    handler: createBoundary,
  }),
  route('GET', '/boundaries/config', {
    auth: action('boundaries/read'),
    scope: 'root',
    mayPass: mayReadAnyBoundary,
    summary: 'How the list of boundaries can be sorted and filtered',
    reply: ListConfigDto,
    handler: (context) => {
      const { access } = context.services
      const { principalId } = context.caller
      const config = listConfig(boundaryShape, { collection: 'boundaries', context, actionPrefix: 'boundaries' })
      const names = ACTIONS.map(({ name }) => name).filter((name) => name.startsWith('boundaries/'))
      return ok({
        ...config,
        // At any boundary, because the list spans all of them.
        actions: names.filter((name) => access.scopesWith(principalId, name).granted.length > 0),
      })
    },
  }),
  route('GET', '{B}', {
    auth: action('boundaries/read'),
    summary: 'Read a boundary',
    reply: BoundaryDto,
    handler: async (context) => {
      const boundary = await findBoundary(context, context.parameters.boundaryId, context)
      return ok(shownBoundary(context, boundary), { etag: etagOf(boundary) })
    },
  }),
  route('PATCH', '{B}', {
    auth: action('boundaries/manage'),
    summary: 'Change the display name',
    body: BoundaryBody.meta({ id: 'UpdateBoundaryRequest' }),
    mediaTypes: ['application/json', 'application/merge-patch+json'],
    reply: BoundaryDto,
    handler: (context) => changeBoundary(context, { displayName: context.body.displayName }),
  }),
  route('PUT', '{B}/quota', {
    auth: action('boundaries/create'),
    scope: 'root',
    summary: 'Replace the limits over all groups of the boundary; what already runs continues',
    body: BoundaryQuotaBody,
    example: { cpu: '16', memory: '64Gi' },
    reply: BoundaryDto,
    handler: (context) =>
      changeBoundary(context, { quota: withoutAbsent(context.body) as BoundaryRecord['spec']['quota'] }),
  }),
  route('DELETE', '{B}', {
    auth: action('boundaries/delete'),
    scope: 'root',
    summary: 'Delete an empty boundary; 202 while its namespace goes',
    handler: deleteBoundary,
  }),
]
