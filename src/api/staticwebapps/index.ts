import { StaticWebApp } from '../../crds/staticwebapps.ts'
import type { Context } from '../http/context.ts'
import { BUILD_RIGHTS } from '../http/furtherRights.ts'
import { action, dataAction, type RouteDraft } from '../http/route.ts'
import { deployRoute } from '../resources/deployments/deploy.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { codeChoices } from '../resources/deployments/runtimes.ts'
import { findResource, workloadRefOf } from '../resources/find.ts'
import { certificateField } from '../resources/hosts.ts'
import { invalidState } from '../resources/invalidState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { text } from '../resources/paging.ts'
import { podRoute } from '../resources/pods.ts'
import { resource } from '../resources/resource.ts'
import { urlPreviewRoute } from '../resources/urlPreview.ts'
import { siteRecord } from './record.ts'
import { rollbackRoute } from './rollback.ts'

const BASE = '{RG}/staticwebapps/{name}'
const readLogs = dataAction('staticwebapp/readLogs')
const deploy = dataAction('staticwebapp/deploy')

const findLive = async (context: Context) =>
  workloadRefOf(context.services, (await findResource(StaticWebApp, context)).object)

/** The routes of static web apps (interface sections 4.2 and 4.7). */
export const siteRoutes: readonly RouteDraft[] = [
  ...resource(StaticWebApp, {
    segment: 'staticwebapps',
    further: BUILD_RIGHTS,
    actionPrefix: 'staticwebapp',
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
    collection: 'staticwebapps',
    auth: deploy,
    instead: 'set repositoryUrl, or another image',
  }),
  rollbackRoute,
  ...deploymentRoutes(StaticWebApp, BASE, {
    collection: 'staticwebapps',
    actionPrefix: 'staticwebapp',
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
