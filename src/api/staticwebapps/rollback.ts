import { z } from 'zod'
import { notFound, PlatformError, refusedFields } from '../../core/errors.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../crds/deployments.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { dataAction, type RouteDraft, route } from '../http/route.ts'
import { changeResource } from '../resources/change.ts'
import type { StoredDeployment } from '../resources/deployments/record.ts'
import { Uuid } from '../resources/dto.ts'
import { createViewBuilder, findResource } from '../resources/find.ts'
import { nowOf } from '../resources/nowOf.ts'
import { numberedDeploymentsOf, siteRecord } from './record.ts'

const RollbackRequest = strictRecord('StaticWebAppRollbackRequest', {
  deploymentId: Uuid.nullish(),
  number: z.int().min(1).nullish(),
  image: DeploymentRecord.spec.shape.image.unwrap().nullish(),
})
type Request = z.output<typeof RollbackRequest>

/** `<base>/rollback`: serves an earlier image again, without a build. */
export const rollbackRoute: RouteDraft = route('POST', '{RG}/staticwebapps/{name}/rollback', {
  auth: dataAction('staticwebapp/deploy'),
  isHeld: true,
  summary: 'Serves an earlier image again, without a build',
  body: RollbackRequest,
  reply: siteRecord.dto,
  example: { number: 1 },
  handler: async (context: Context<string, unknown, Request>) => {
    const { ref, location } = await findResource(StaticWebApp, context as Context)
    const { services, body } = context
    const { object } = await changeResource(StaticWebApp, { ref, location }, context, (stored) => {
      const { image, id } = target(
        numberedDeploymentsOf({ services, object: stored }).map(({ record }) => record),
        body,
      )
      if (stored.spec.image !== undefined) return { ...stored.spec, image }
      if (stored.status?.release?.deploymentId === id) return stored.spec
      return { ...stored.spec, rollback: { deploymentId: id, requestedAt: nowOf(context) } }
    })
    const view = createViewBuilder<typeof StaticWebApp>(services, location.boundaryId)(object, location.resourceGroup)
    return ok(siteRecord.toDto(view), { etag: etagOf(object) })
  },
})

/** @throws PlatformError BAD_REQUEST, NOT_FOUND, INVALID_STATE, IMAGE_GONE */
function target(history: readonly StoredDeployment[], request: Request): { id: string; image: string } {
  const selectors = Object.entries(request).filter(([, value]) => value !== undefined && value !== null)
  const [selector] = selectors
  if (selector === undefined || selectors.length > 1) {
    const message = 'a rollback names exactly one of deploymentId, number and image'
    throw refusedFields([{ field: 'deploymentId', message }])
  }
  const [field, value] = selector
  const found = history.find(({ metadata, status }) => {
    if (field === 'number') return status?.number === value
    return field === 'image' ? status?.image === value : metadata.name === String(value).toLowerCase()
  })
  if (found === undefined) throw notFound(`A deployment with ${field} ${JSON.stringify(value)}`)
  const image = found.status?.image
  if (image !== undefined) return { id: found.metadata.name, image }
  const phase = deploymentPhaseOf(found)
  if (phase === 'Succeeded')
    throw new PlatformError('IMAGE_GONE', 'Its image is no longer kept: deploy its commit again.', {
      deploymentId: found.metadata.name,
    })
  throw new PlatformError('INVALID_STATE', `Deployment ${found.status?.number} has no image: it is ${phase}.`, {
    status: phase,
    phase,
  })
}
