import { containerNames } from '../../contracts/containerinstances.ts'
import { APP_COMPONENT, PlatformApp } from '../../crds/apps.ts'
import type { Context } from '../http/context.ts'
import { BUILD_RIGHTS, REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft } from '../http/route.ts'
import { deployRoute } from '../resources/deployments/deploy.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { codeChoices } from '../resources/deployments/runtimes.ts'
import { sourceRoute } from '../resources/deployments/source.ts'
import { componentWithFiles, type FoundFiles, fileRoutes, filesOf } from '../resources/files.ts'
import { findResource, workloadRefOf } from '../resources/find.ts'
import { certificateField } from '../resources/hosts.ts'
import { invalidState } from '../resources/invalidState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { metricsRoute } from '../resources/metrics.ts'
import { enumeration, flag, number, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { podRoute } from '../resources/pods.ts'
import { resource } from '../resources/resource.ts'
import { webMetricsRoute } from '../resources/webMetrics.ts'
import { certificateRoute } from './certificates.ts'
import { appRecord, requireAppCodeRights } from './record.ts'
import { appRevisionRoutes } from './revisions.ts'
import { runtimeRoute } from './runtimes.ts'

const BASE = '{RG}/apps/{appName}'
const PlanDto = namedRecord('AppComputePlanDto', planFields)

const findApp = (context: Context) => findResource(PlatformApp, context, 'appName')
const findLive = async (context: Context) => workloadRefOf(context.services, (await findApp(context)).object)

/** The routes of apps (interface sections 4.2 and 4.8). */
export const appRoutes: readonly RouteDraft[] = [
  ...resource(PlatformApp, {
    segment: 'apps',
    further: `${REFERENCE_RIGHTS}; ${BUILD_RIGHTS}`,
    actionPrefix: 'apps',
    ...appRecord,
    example: { sourceKind: 'Image', image: 'docker.io/nginxinc/nginx-unprivileged:1.29' },
    choices: codeChoices,
    fields: {
      sourceKind: enumeration('Source', PlatformApp.spec.shape.sourceKind.options, { isSorted: false }),
      runtime: text('Runtime'),
      branch: text('Branch', { isSorted: false }),
      isPublic: flag('Public'),
      certificateStatus: certificateField,
      restartCount: number('Restarts', { of: ({ object }) => object.status?.restartCount ?? 0, isFiltered: false }),
    },
  }),
  ...planRoutes({
    segment: 'appcomputeplans',
    family: 'App',
    dto: PlanDto,
    productionReplicas: 3,
    auth: action('apps/read'),
  }),
  runtimeRoute,
  certificateRoute,
  ...appRevisionRoutes,
  metricsRoute(BASE, action('apps/read'), findLive),
  webMetricsRoute(BASE, action('apps/read'), async (context) => {
    const { object, ref } = await findApp(context)
    const { whole, component } = containerNames(ref.name, 'PlatformApp')
    return { object, routed: { namespace: ref.namespace, route: whole, service: component(APP_COMPONENT) } }
  }),
  ...deploymentRoutes(PlatformApp, BASE, {
    collection: 'apps',
    actionPrefix: 'apps',
    parameter: 'appName',
    read: action('apps/read'),
    readLogs: dataAction('apps/readLogs'),
    write: 'apps/write',
    cancel: action('apps/write'),
    refuse: (object, body, context, location) => {
      const { spec } = object as { spec: PlatformApp['spec'] }
      if (spec.sourceKind === 'Image')
        throw invalidState(object, 'This app runs the image in its field image: change that field to deploy another.')
      if (body.containerImage) requireAppCodeRights(spec, location, context)
    },
  }),
  podRoute(BASE, dataAction('apps/readLogs'), async (context) => context.services.live.pods(await findLive(context))),
  logRoute(BASE, dataAction('apps/readLogs'), async (context, request) => {
    const location = await findLive(context)
    return { sources: containersOf(await context.services.live.pods(location), request, location) }
  }),
  ...fileRoutes(BASE, { read: dataAction('apps/readFiles'), write: dataAction('apps/writeFiles'), find: findFiles }),
]

/** Routes that deploy the current code: from the repository, or from an uploaded source. */
export const additionalAppRoutes: readonly RouteDraft[] = [
  deployRoute(PlatformApp, BASE, {
    collection: 'apps',
    parameter: 'appName',
    auth: action('apps/write'),
    instead: 'an app of an image takes another one in its field image, and an app of uploads a source',
    refuse: ({ spec }, context, location) => requireAppCodeRights(spec as PlatformApp['spec'], location, context),
  }),
  sourceRoute(PlatformApp, BASE, {
    collection: 'apps',
    parameter: 'appName',
    auth: action('apps/write'),
    refuse: (object, context, location) => {
      const { spec } = object as { spec: PlatformApp['spec'] }
      if (spec.sourceKind !== 'Upload') {
        const message = `Only an app with sourceKind Upload takes a source; this one has ${spec.sourceKind}.`
        throw invalidState(object, message)
      }
      requireAppCodeRights(spec, location, context)
    },
  }),
]

/** Returns where the files of an app are: in its Persistent volumes. */
async function findFiles(context: Context, componentName: string | undefined): Promise<FoundFiles> {
  const { object, ref } = await findApp(context)
  const names = containerNames(ref.name, 'PlatformApp')
  const persistent = object.spec.volumes.filter(({ kind }) => kind === 'Persistent')
  componentWithFiles(persistent.length === 0 ? [] : [{ name: APP_COMPONENT }], componentName)
  const volumes = persistent.map(({ name, mountPath }) => ({
    ...{ path: mountPath, claim: names.volume(name), subPath: undefined, readOnly: false },
  }))
  return filesOf(context, object, APP_COMPONENT, { volumes, hasVolumes: object.status?.revision !== undefined })
}
