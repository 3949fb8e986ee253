import { z } from 'zod'
import { notFound, PlatformError, refusedFields } from '../../core/errors.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../crds/deployments.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { BUILD_RIGHTS } from '../http/furtherRights.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import { changeResource } from '../resources/change.ts'
import { deployRoute } from '../resources/deployments/deploy.ts'
import type { StoredDeployment } from '../resources/deployments/record.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { codeChoices } from '../resources/deployments/runtimes.ts'
import { Uuid } from '../resources/dto.ts'
import { createViewBuilder, findResource, workloadRefOf } from '../resources/find.ts'
import { certificateField } from '../resources/hosts.ts'
import { invalidState } from '../resources/invalidState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { nowOf } from '../resources/nowOf.ts'
import { text } from '../resources/paging.ts'
import { podRoute } from '../resources/pods.ts'
import { resource } from '../resources/resource.ts'
import { urlPreviewRoute } from '../resources/urlPreview.ts'
import { numberedDeploymentsOf, siteRecord } from './record.ts'

const RollbackRequest = strictRecord('StaticWebAppRollbackRequest', {
  deploymentId: Uuid.nullish(),
  number: z.int().min(1).nullish(),
  image: DeploymentRecord.spec.shape.image.unwrap().nullish(),
})
type Request = z.output<typeof RollbackRequest>

/** `<base>/rollback`: serves an earlier image again, without a build. */
const rollbackRoute: RouteDraft = route('POST', '{RG}/staticwebapps/{name}/rollback', {
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

const BASE = '{RG}/staticwebapps/{name}'
const readLogs = dataAction('staticwebapp/readLogs')
const deploy = dataAction('staticwebapp/deploy')

const findLive = async (context: Context) =>
  workloadRefOf(context.services, (await findResource(StaticWebApp, context)).object)

/** The routes of static web apps (interface sections 4.2 and 4.7). */
export const siteRoutes: readonly RouteDraft[] = [
  ...resource(StaticWebApp, {
    further: BUILD_RIGHTS,
    ...siteRecord,
    example: { image: 'docker.io/nginxinc/nginx-unprivileged:1.29' },
    choices: (services) => ({ builderImage: codeChoices(services).builderImage }),
    fields: {
      branch: text('Branch'),
      repositoryUrl: text('Repository', { isSorted: false }),
      certificateStatus: certificateField,
      resourcePlanId: text('Plan', { of: ({ object }) => object.spec.computePlan, isSorted: false }),
    },
  }),
  deployRoute(StaticWebApp, BASE, {
    auth: deploy,
    instead: 'set repositoryUrl, or another image',
  }),
  rollbackRoute,
  ...deploymentRoutes(StaticWebApp, BASE, {
    collection: 'staticwebapps',
    parameter: 'name',
    read: action('staticwebapp/read'),
    readLogs,
    write: 'staticwebapp/write',
    cancel: deploy,
    refuse: (object) => {
      if ((object.spec as StaticWebApp['spec']).image === undefined) return
      const message = 'This site serves the image in its field image: change that field to deploy another.'
      throw invalidState(object, message)
    },
  }),
  podRoute(BASE, readLogs, async (context) => context.services.live.pods(await findLive(context))),
  logRoute(BASE, readLogs, async (context, request) => {
    const location = await findLive(context)
    return { sources: containersOf(await context.services.live.pods(location), request, location) }
  }),
  urlPreviewRoute(StaticWebApp, '{B}/resources/staticwebapps/url', 'staticwebapp/write'),
]
