import { z } from 'zod'
import { CERTIFICATE_STATES } from '../../contracts/certificates.ts'
import { containerNames } from '../../contracts/containerinstances.ts'
import { timestamp } from '../../core/clock.ts'
import { objectId } from '../../core/ids.ts'
import { AppRuntime } from '../../crds/appruntimes.ts'
import { APP_COMPONENT, PlatformApp } from '../../crds/apps.ts'
import { ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { BUILD_RIGHTS, REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { deployRoute } from '../resources/deployments/deploy.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { codeChoices, runtimeStatusOf } from '../resources/deployments/runtimes.ts'
import { sourceRoute } from '../resources/deployments/source.ts'
import { DateTime, DnsRecordDto, Uuid } from '../resources/dto.ts'
import { componentWithFiles, type FoundFiles, fileRoutes, filesOf } from '../resources/files.ts'
import { clusterInfo, findBoundary, findResource, workloadRefOf } from '../resources/find.ts'
import { certificateField, certificateStatusOf } from '../resources/hosts.ts'
import { invalidState } from '../resources/invalidState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { metricsRoute } from '../resources/metrics.ts'
import { enumeration, flag, number, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { podRoute } from '../resources/pods.ts'
import { resource } from '../resources/resource.ts'
import { webMetricsRoute } from '../resources/webMetrics.ts'
import { appRecord, requireAppCodeRights } from './record.ts'
import { appRevisionRoutes } from './revisions.ts'

const Status = z.enum(CERTIFICATE_STATES)
const CertificateStatusDto = namedRecord('CertificateStatusDto', {
  status: Status.describe('The worst of the hosts'),
  hosts: z.array(
    namedRecord('CertificateHostDto', {
      host: z.string(),
      status: Status,
      issuer: z.string().nullable(),
      notBefore: DateTime.nullable(),
      notAfter: DateTime.nullable(),
      renewsAt: DateTime.nullable(),
      lastError: z.string().nullable(),
      requiredRecords: z.array(DnsRecordDto).describe('What the DNS has to say so that the host leads here'),
    }),
  ),
  checkedAt: DateTime,
})

/** Reports the certificates of an app's custom domains. The platform's own certificate covers its generated host. */
const certificateRoute: RouteDraft = route('GET', '{RG}/apps/{appName}/certificate-status', {
  auth: action('apps/read'),
  summary: 'Certificates of its custom domains',
  reply: CertificateStatusDto,
  handler: async (context) => {
    const { object } = await findResource(PlatformApp, context, 'appName')
    const { spec, status } = object
    const own = status?.publicHost ?? clusterInfo(context.services, spec.clusterId).domain
    const known = new Map((status?.certificates ?? []).map((one) => [one.host, one]))
    const hosts = (spec.isPublic ? spec.customDomains : []).map((host) => {
      const { status: state = 'NotRequested', issuer, notBefore, notAfter, renewsAt, lastError } = known.get(host) ?? {}
      return {
        ...{ host, status: state, issuer: issuer ?? null, notBefore: notBefore ?? null, notAfter: notAfter ?? null },
        ...{ renewsAt: renewsAt ?? null, lastError: lastError ?? null },
        requiredRecords: [{ type: 'CNAME', name: host, value: own }],
      }
    })
    const worst = certificateStatusOf({ object }) ?? 'NotRequested'
    return ok({ status: worst, hosts, checkedAt: timestamp(context.services.clock.now()) })
  },
})

const AppRuntimeDto = namedRecord('AppRuntimeDto', {
  id: Uuid,
  name: z.string().describe('What runtime takes'),
  title: z.string(),
  versions: z.array(
    namedRecord('AppRuntimeVersion', {
      version: z.string(),
      isDefault: z.boolean(),
      status: z.enum(['Supported', 'Deprecated', 'Ended']),
      endsAt: DateTime.nullable(),
      builderImage: z.string(),
    }),
  ),
  detects: z.array(z.string()).describe('Files by which a repository is recognised'),
  defaultStartCommand: z.string(),
  defaultPort: z.int(),
  description: z.string(),
})

function runtimeDto({ metadata: { name }, spec }: RecordOf<typeof AppRuntime>, services: Services) {
  const { title, detects, defaultStartCommand, defaultPort, description } = spec
  return {
    ...{ id: objectId(AppRuntime.resource, { name }), name, title },
    versions: spec.versions.map((one) => ({
      version: one.version,
      isDefault: one.isDefault === true,
      status: runtimeStatusOf(one, services),
      endsAt: one.endsAt ?? null,
      builderImage: one.builderImage,
    })),
    ...{ detects, defaultStartCommand, defaultPort, description },
  }
}

const runtimeRoute: RouteDraft = listRoute('{B}/resources/appruntimes', {
  auth: action('apps/read'),
  summary: 'Languages that apps can be built with',
  dto: AppRuntimeDto,
  sort: 'name',
  columns: { name: text('Name', { isSearched: true }), title: text('Title', { isSearched: true }) },
  rows: async (context) => {
    await findBoundary(context, context.parameters.boundaryId ?? '')
    return context.services.records.peekAll(AppRuntime).map((runtime) => runtimeDto(runtime, context.services))
  },
})

const BASE = '{RG}/apps/{appName}'
const PlanDto = namedRecord('AppComputePlanDto', planFields)

const findApp = (context: Context) => findResource(PlatformApp, context, 'appName')
const findLive = async (context: Context) => workloadRefOf(context.services, (await findApp(context)).object)

/** The routes of apps (interface sections 4.2 and 4.8). */
export const appRoutes: readonly RouteDraft[] = [
  ...resource(PlatformApp, {
    further: `${REFERENCE_RIGHTS}; ${BUILD_RIGHTS}`,
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
  // These deploy the current code: from the repository, or from an uploaded source.
  deployRoute(PlatformApp, BASE, {
    parameter: 'appName',
    auth: action('apps/write'),
    instead: 'an app of an image takes another one in its field image, and an app of uploads a source',
    refuse: ({ spec }, context, location) => requireAppCodeRights(spec as PlatformApp['spec'], location, context),
  }),
  sourceRoute(PlatformApp, BASE, {
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
