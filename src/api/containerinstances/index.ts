import { z } from 'zod'
import { COMPONENT_LABEL, containerNames, digestOfImage } from '../../contracts/containerinstances.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { ComponentField, VolumeField } from '../../crds/containerFields.ts'
import { ContainerInstance, completeInstance, completeSpec } from '../../crds/containerinstances.ts'
import { type InstanceContent, REVISION_FIELDS } from '../../crds/containerRevisions.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { withoutAbsent } from '../records/specs.ts'
import { changeResource } from '../resources/change.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, ResourceActionResultDto } from '../resources/dto.ts'
import { componentWithFiles, type FoundFiles, fileRoutes, filesOf } from '../resources/files.ts'
import { findResource, locateResource, type ResourceLocation, workloadRefOf } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import type { PodUsage } from '../resources/liveState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { dateTime, enumeration, flag, number, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { ContainerStateDto, containerState, type Pod, podOf as shownPod } from '../resources/pods.ts'
import { actionResult, refuseStopped } from '../resources/powerRoutes.ts'
import { resource } from '../resources/resource.ts'
import { revisionRoutes, rowWithImages } from '../resources/revisions.ts'
import { urlPreviewRoute } from '../resources/urlPreview.ts'
import { backupPolicyRoutes } from './backupPolicy.ts'
import { instanceRecord, requireInstanceReadRights } from './record.ts'

const STATES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', 'Terminating'] as const

const crateFields = {
  id: z.string().describe('Name of the pod'),
  component: z.string(),
  status: z.enum(STATES),
  ready: z.boolean(),
  restartCount: z.int(),
  nodeName: z.string().nullable(),
  podIp: z.string().nullable(),
  image: z.string(),
  imageDigest: z.string().nullable(),
  revision: z.int().describe('Since which revision its component is as it runs here'),
  startedAt: DateTime.nullable(),
  processes: z.array(ContainerStateDto.extend({ startedAt: DateTime.nullable() }).meta({ id: 'CrateProcess' })),
  cpuUsage: z.string().nullable().describe('In cores; null where nothing measures it'),
  memoryUsage: z.string().nullable(),
}
const CrateDto = namedRecord('CrateDto', crateFields)
type Crate = z.output<typeof CrateDto>
const CrateEvent = namedRecord('CrateEvent', {
  timestamp: DateTime,
  type: z.enum(['Normal', 'Warning']),
  reason: z.string(),
  message: z.string(),
  count: z.int(),
})
const CrateWithEvents = namedRecord('CrateWithEvents', { ...crateFields, events: z.array(CrateEvent) })

function processOf(container: NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]) {
  const { running, terminated } = container.state ?? {}
  return { ...containerState(container), startedAt: (running ?? terminated)?.startedAt ?? null }
}

/** Returns the record of one running copy of a component. */
function crateOf(pod: Pod, usage: PodUsage | undefined): Crate {
  const { metadata, status: { containerStatuses: containers = [] } = {} } = pod
  const { name: id, phase, revision, containers: _, ...shown } = shownPod(pod)
  return {
    ...{ ...shown, id },
    component: metadata.labels?.[COMPONENT_LABEL] ?? '',
    status: metadata.deletionTimestamp === undefined ? phase : 'Terminating',
    imageDigest: digestOfImage(containers[0]?.imageID) ?? null,
    revision: revision ?? 0,
    processes: containers.map(processOf),
    cpuUsage: usage?.cpu ?? null,
    memoryUsage: usage?.memory ?? null,
  }
}

async function placeOf(context: Context) {
  const { object } = await findResource(ContainerInstance, context)
  return workloadRefOf(context.services, object)
}

/** @throws PlatformError NOT_FOUND */
async function podOf(context: Context): Promise<{ pod: Pod; place: Awaited<ReturnType<typeof placeOf>> }> {
  const place = await placeOf(context)
  const id = context.parameters.crateId ?? ''
  const pod = (await context.services.live.pods(place)).find(({ metadata }) => metadata.name === id)
  if (pod === undefined) throw notFound(`Crate "${id}"`)
  return { pod: pod as Pod, place }
}

/** Running copies, their events and their logs. */
function crateRoutes(base: string): RouteDraft[] {
  const path = `${base}/crates`
  return [
    listRoute(path, {
      auth: action('containerinstance/read'),
      summary: 'Running copies of its components',
      dto: CrateDto,
      sort: '-startedAt',
      columns: {
        component: text('Component', { isSorted: false }),
        status: enumeration('Status', STATES, { isSorted: false }),
        ready: flag('Ready'),
        startedAt: dateTime('Started', { isFiltered: false }),
      },
      rows: async (context) => {
        const place = await placeOf(context)
        const pods = await context.services.live.pods(place)
        const usage = pods.length === 0 ? new Map<string, PodUsage>() : await context.services.live.usage(place)
        return pods.map((pod) => crateOf(pod as Pod, usage.get(pod.metadata.name)))
      },
    }),
    route('GET', `${path}/{crateId}` as string, {
      auth: action('containerinstance/read'),
      summary: 'One copy, with its events',
      reply: CrateWithEvents,
      handler: async (context) => {
        const { pod, place } = await podOf(context)
        const { live } = context.services
        const [usage, events] = await Promise.all([live.usage(place), live.events(place, pod.metadata.name)])
        return ok({ ...crateOf(pod, usage.get(pod.metadata.name)), events }, { etag: etagOf(pod) })
      },
    }),
    logRoute(`${path}/{crateId}`, dataAction('containerinstance/readLogs'), async (context, request) => {
      const { pod, place } = await podOf(context)
      const sources = containersOf([pod], request, place)
      const restarted = new Set(
        (pod.status?.containerStatuses ?? []).flatMap(({ name, restartCount = 0 }) => (restartCount > 0 ? [name] : [])),
      )
      if (request.previous && !sources.some(({ container }) => restarted.has(container)))
        throw notFound(`An earlier run of a container of crate "${pod.metadata.name}"`)
      return { sources }
    }),
  ]
}

const BASE = '{RG}/containerinstances/{name}'

const PlanDto = namedRecord('ContainerInstancePlanDto', planFields)

/** The content of a single revision: the fields that a rollback restores. */
const Content = z.object(
  Object.fromEntries(
    Object.entries({
      ...ContainerInstance.spec.shape,
      components: z.array(ComponentField),
      volumes: z.array(VolumeField),
    })
      .filter(([name]) => (REVISION_FIELDS as readonly string[]).includes(name))
      .map(([name, schema]) => [name, schema as z.ZodType]),
  ),
)

/** The routes of container instances (interface sections 4.2 and 4.6). */
export const containerInstanceRoutes: readonly RouteDraft[] = [
  ...resource(ContainerInstance, {
    further: REFERENCE_RIGHTS,
    ...instanceRecord,
    example: {
      components: [
        {
          name: 'web',
          image: 'docker.io/nginxinc/nginx-unprivileged:1.29',
          ports: [{ name: 'http', port: 8080 }],
        },
      ],
    },
    fields: {
      image: text('Image', {
        of: ({ object }) => object.spec.components[0]?.image,
        isSorted: false,
        // Each component has its own image.
        isColumn: false,
      }),
      isPublic: flag('Public'),
      revision: number('Revision', { of: ({ object }) => object.status?.revision ?? 0 }),
      restartCount: number('Restarts', { of: ({ object }) => object.status?.restartCount ?? 0, isFiltered: false }),
    },
  }),
  ...planRoutes({
    family: 'ContainerInstance',
    dto: PlanDto,
    productionReplicas: 3,
  }),
  ...crateRoutes(BASE),
  ...backupPolicyRoutes(BASE),
  ...fileRoutes(BASE, {
    read: dataAction('containerinstance/readFiles'),
    write: dataAction('containerinstance/writeFiles'),
    find: findFiles,
  }),
  ...revisionRoutes<typeof ContainerInstance, InstanceContent>(ContainerInstance, BASE, {
    read: action('containerinstance/read'),
    write: action('containerinstance/write'),
    dto: instanceRecord.dto,
    toDto: instanceRecord.toDto,
    single: { id: 'ContainerInstanceRevisionDto', content: Content },
    parametersOf: ({ parameters }) => parameters,
    row: rowWithImages(({ components }) => Object.fromEntries(components.map(({ name, image }) => [name, image]))),
    rollback,
  }),
  route('POST', `${BASE}/components/{component}/actions/redeploy`, {
    auth: action('containerinstance/write'),
    isHeld: true,
    summary: 'Replaces the copies of a component',
    reply: ResourceActionResultDto,
    handler: redeploy,
  }),
  urlPreviewRoute(ContainerInstance, '{B}/resources/containerinstances/url', 'containerinstance/write'),
]

/** Returns where the files of a component are: in its Persistent volumes. */
async function findFiles(context: Context, componentName: string | undefined): Promise<FoundFiles> {
  const { object, ref } = await findResource(ContainerInstance, context)
  const { spec } = completeInstance(object)
  const names = containerNames(ref.name)
  const persistent = new Set(spec.volumes.flatMap(({ name, kind }) => (kind === 'Persistent' ? [name] : [])))
  const withVolumes = spec.components.filter(({ mounts }) => mounts.some(({ volume }) => persistent.has(volume)))
  const { name: component, mounts, runAsUser } = componentWithFiles(withVolumes, componentName)
  const hasVolumes = object.status?.firstReadyAt !== undefined || object.status?.revision !== undefined
  const volumes = mounts
    .filter(({ volume }) => persistent.has(volume))
    .map(({ volume, path, subPath, readOnly }) => ({ path, claim: names.volume(volume), subPath, readOnly }))
  return filesOf(context, object, component, { volumes, user: runAsUser, hasVolumes })
}

/** Volumes are not rolled back, because they must not shrink or be removed. */
function rollback(
  stored: RecordOf<typeof ContainerInstance>,
  content: InstanceContent,
  context: Context,
  location: ResourceLocation,
): object {
  const kept = Object.entries(stored.spec).filter(([name]) => !(REVISION_FIELDS as readonly string[]).includes(name))
  const now = completeInstance(stored).spec.volumes
  const volumes = content.volumes
    .map((volume) => (volume.kind === 'Persistent' ? (now.find(({ name }) => name === volume.name) ?? volume) : volume))
    .concat(now.filter(({ name, kind }) => kind === 'Persistent' && !content.volumes.some((one) => one.name === name)))
  const spec = { ...Object.fromEntries(kept), ...content, volumes }
  const draft = completeSpec(withDefaults(ContainerInstance.spec, withoutAbsent(spec)))
  requireInstanceReadRights(draft, { ...location, services: context.services, context, previous: stored })
  return spec
}

/** @throws PlatformError NOT_FOUND, INVALID_STATE */
async function redeploy(context: Context) {
  const located = await locateResource(context, 'name')
  const component = context.parameters.component ?? ''
  const now = timestamp(context.services.clock.now())
  const { object, isChanged } = await changeResource(ContainerInstance, located, context, (stored) => {
    const { spec, metadata } = stored
    const exists = (one: string) => spec.components.some(({ name }) => name === one)
    if (!exists(component)) throw notFound(`Component "${component}"`)
    refuseStopped(stored)
    if (spec.components.some(({ name, replicas }) => name === component && replicas === 0))
      throw invalidState(stored, `Component "${component}" of "${metadata.name}" has no copies; scale it up instead.`)
    // Drop removed components: they would accumulate in the map, and no REST caller could remove them.
    const known = Object.entries(spec.redeployedAt).filter(([name]) => exists(name))
    return { ...spec, redeployedAt: { ...Object.fromEntries(known), [component]: now } }
  })
  const result = actionResult(ContainerInstance, 'redeploy', { ...located, object, isChanged, now })
  return ok(result, { etag: etagOf(object) })
}
