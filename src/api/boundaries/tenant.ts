import { z } from 'zod'
import { Uuid } from '../../crds/fields.ts'
import { ok } from '../answer.ts'
import type { Context } from '../context.ts'
import { etagOf } from '../etag.ts'
import { findBoundary } from '../places.ts'
import { checkTenant, moveTenant } from '../rbac/tenantMove.ts'
import { refuseWhileDeleting } from '../resourceWrites.ts'
import { action, type RouteDraft, route } from '../route.ts'
import { BoundaryDto, boundaryDto } from './record.ts'
import { type BoundaryRecord, boundaryScope } from './visibility.ts'

const MoveBoundaryTenantRequest = z
  .strictObject({ tenantId: Uuid.nullish().describe('Null detaches') })
  .meta({ id: 'MoveBoundaryTenantRequest' })

function shown({ services, caller }: Context, boundary: BoundaryRecord) {
  const permissions = services.access.permissionsAt(caller.principalId, boundaryScope(boundary.metadata.name))
  return ok({ ...boundaryDto(services, boundary), permissions }, { etag: etagOf(boundary) })
}

export const tenantRoutes: readonly RouteDraft[] = [
  route(
    'POST',
    '{B}/tenant',
    {
      auth: action('boundaries/tenant/admin'),
      summary: 'Give the boundary to a tenant, or to none',
      body: MoveBoundaryTenantRequest,
      reply: BoundaryDto,
      answers: [200],
    },
    async (context) => {
      const { services, caller, body, ifMatch, parameters } = context
      const { boundaryId } = parameters
      const boundary = await findBoundary(context, boundaryId)
      refuseWhileDeleting(boundary)
      const tenantId = body.tenantId ?? undefined
      checkTenant(services, tenantId, 'TENANT_NOT_FOUND')
      if (boundary.spec.tenantId === tenantId) return shown(context, boundary)
      return shown(context, (await moveTenant(services, caller, boundaryId, tenantId, ifMatch)).boundary)
    },
  ),
]
