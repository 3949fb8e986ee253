import { z } from 'zod'
import { REVISION_LABEL } from '../../contracts/containerinstances.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { Authorization, RouteDraft } from '../http/route.ts'
import { listRoute } from './collection/columns.ts'
import { DateTime } from './dto.ts'
import { dateTime, enumeration, flag, text } from './paging.ts'

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const

/** PodDto (records: shared answers). */
export const ContainerStateDto = namedRecord('ContainerStateDto', {
  name: z.string(),
  state: z.enum(['Waiting', 'Running', 'Terminated']),
  ready: z.boolean(),
  reason: z.string().nullable(),
  exitCode: z.int().nullable(),
  restartCount: z.int(),
})
const PodDto = namedRecord('PodDto', {
  name: z.string(),
  podIp: z.string().nullable(),
  nodeName: z.string().nullable(),
  phase: z.enum(PHASES),
  ready: z.boolean(),
  restartCount: z.int(),
  startedAt: DateTime.nullable(),
  image: z.string(),
  revision: z.int().nullable().describe('Since which revision it is as it runs here'),
  containers: z.array(ContainerStateDto),
})
type PodDto = z.output<typeof PodDto>

type ContainerStatus = {
  name?: string
  imageID?: string
  ready?: boolean
  restartCount?: number
  state?: Partial<
    Record<'waiting' | 'running' | 'terminated', { reason?: string; exitCode?: number; startedAt?: string }>
  >
}
export type Pod = KubeObject & {
  spec?: { nodeName?: string; containers?: { image?: string }[] }
  status?: { phase?: string; podIP?: string; startTime?: string; containerStatuses?: ContainerStatus[] }
}

export function containerState({
  name = '',
  ready = false,
  restartCount = 0,
  state = {},
}: ContainerStatus): PodDto['containers'][number] {
  const { waiting, running, terminated } = state
  return {
    name,
    state: terminated !== undefined ? 'Terminated' : running !== undefined ? 'Running' : 'Waiting',
    ready,
    reason: (waiting ?? terminated)?.reason ?? null,
    exitCode: terminated?.exitCode ?? null,
    restartCount,
  }
}

export function podOf({ metadata, spec, status = {} }: Pod): PodDto {
  const containers = (status.containerStatuses ?? []).map(containerState)
  const revision = metadata.labels?.[REVISION_LABEL]
  return {
    name: metadata.name,
    podIp: status.podIP ?? null,
    nodeName: spec?.nodeName ?? null,
    phase: PHASES.find((phase) => phase === status.phase) ?? 'Unknown',
    ready: containers.length > 0 && containers.every(({ ready }) => ready),
    restartCount: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    startedAt: status.startTime ?? null,
    image: spec?.containers?.[0]?.image ?? '',
    revision: revision === undefined ? null : Number(revision),
    containers,
  }
}

export function podRoute(
  base: string,
  auth: Authorization,
  find: (context: Context) => Promise<readonly KubeObject[]>,
): RouteDraft {
  return listRoute(`${base}/pods`, {
    auth,
    summary: 'Running copies',
    dto: PodDto,
    id: 'name',
    sort: '-startedAt',
    columns: {
      name: text('Name', { isSearched: true }),
      phase: enumeration('Phase', PHASES, { isSorted: false }),
      ready: flag('Ready'),
      startedAt: dateTime('Started', { isFiltered: false }),
    },
    rows: async (context) => (await find(context as Context)).map((pod) => podOf(pod as Pod)),
  })
}
