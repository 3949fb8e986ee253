import { Boundary } from '../../crds/boundaries.ts'
import { Uuid } from '../../crds/fields.ts'
import type { BoundaryRecord } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { findBoundary } from '../resources/find.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { BoundaryDto, shownBoundary } from './record.ts'
import { checkTenant, moveTenant } from './tenantMove.ts'

const MoveBoundaryTenantRequest = strictRecord('MoveBoundaryTenantRequest', {
  tenantId: Uuid.nullable().describe('Null detaches'),
})

const toDto = (context: Context, boundary: BoundaryRecord) =>
  ok(shownBoundary(context, boundary), { etag: etagOf(boundary) })

export const tenantRoutes: readonly RouteDraft[] = [
  route('POST', '{B}/tenant', {
    auth: action('boundaries/tenant/admin'),
    isHeld: true,
    summary: 'Give the boundary to a tenant, or to none',
    body: MoveBoundaryTenantRequest,
    reply: BoundaryDto,
    handler: async (context) => {
      const { services, caller, body, ifMatch, parameters } = context
      const { boundaryId } = parameters
      const boundary = await findBoundary(context, boundaryId)
      refuseWhileDeleting(boundary)
      const tenantId = body.tenantId ?? undefined
      checkTenant(services, tenantId, 'TENANT_NOT_FOUND')
      if (boundary.spec.tenantId === tenantId) {
        // Changes nothing, but still checks If-Match.
        const unchanged = { caller, ifMatch, change: ({ spec }: BoundaryRecord) => spec }
        return toDto(context, (await services.records.update(Boundary, { name: boundaryId }, unchanged)).object)
      }
      return toDto(
        context,
        (await moveTenant(services, caller, { boundaryId, tenantId, ifMatch, lastOwner: 'LAST_OWNER' })).boundary,
      )
    },
  }),
]
