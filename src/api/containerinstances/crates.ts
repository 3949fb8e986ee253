import { z } from 'zod'
import { COMPONENT_LABEL, digestOfImage } from '../../contracts/containerinstances.ts'
import { notFound } from '../../core/errors.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime } from '../resources/dto.ts'
import { findResource, workloadRefOf } from '../resources/find.ts'
import type { PodUsage } from '../resources/liveState.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { dateTime, enumeration, flag, text } from '../resources/paging.ts'
import { ContainerStateDto, containerState, type Pod, podOf as shownPod } from '../resources/pods.ts'

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
export function crateOf(pod: Pod, usage: PodUsage | undefined): Crate {
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
export function crateRoutes(base: string): RouteDraft[] {
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
