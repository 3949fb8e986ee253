import { z } from 'zod'
import { createdAtOf, type KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import { formatBytes, formatCores, parseForeignQuantity } from '../../core/quantity.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { NOTHING_REQUESTED, type PodObject, requestedOn } from '../resources/capacity.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { enumeration, number, quantity, text } from '../resources/paging.ts'
import { clusterListRoute, type ListedCluster } from './clusterLists.ts'

const STATES = ['Ready', 'NotReady', 'Unknown'] as const

export const NodeDto = namedRecord('NodeDto', {
  clusterId: Uuid,
  clusterName: z.string(),
  name: z.string(),
  status: z.enum(STATES),
  roles: z.array(z.string()),
  isSchedulable: z.boolean(),
  kubeletVersion: z.string(),
  osImage: z.string(),
  architecture: z.string(),
  containerRuntime: z.string(),
  cpuCapacity: z.string(),
  cpuAllocatable: z.string(),
  cpuRequested: z.string(),
  memoryCapacity: z.string(),
  memoryAllocatable: z.string(),
  memoryRequested: z.string(),
  cpuUsage: z.string().nullable().describe('Null where nothing measures it'),
  memoryUsage: z.string().nullable(),
  podCount: z.int(),
  podCapacity: z.int(),
  conditions: z.array(
    namedRecord('NodeCondition', {
      type: z.string(),
      status: z.string(),
      reason: z.string(),
      message: z.string(),
      since: DateTime.nullable(),
    }),
  ),
  createdAt: DateTime,
})
export type NodeDto = z.output<typeof NodeDto>

type Amounts = Record<string, string>
type Node = KubeObject & {
  spec?: { unschedulable?: boolean }
  status?: {
    capacity?: Amounts
    allocatable?: Amounts
    nodeInfo?: Record<string, string>
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
  }
}

const ROLE_LABEL = 'node-role.kubernetes.io/'
const CONDITIONS_MAX = 20
const LINE_MAX = 1024

function stateOf({ status }: Node): NodeDto['status'] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status
  return ready === 'True' ? 'Ready' : ready === 'False' ? 'NotReady' : 'Unknown'
}

/** Returns the records of nodes, with the requests of their pods and their usage. */
export function nodeDtos(
  { clusterId, clusterName }: Pick<ListedCluster, 'clusterId' | 'clusterName'>,
  nodes: readonly KubeObject[],
  pods: readonly KubeObject[],
  usage: ReadonlyMap<string, { cpu?: string; memory?: string }>,
): NodeDto[] {
  const requested = requestedOn(pods as readonly PodObject[])
  return (nodes as readonly Node[]).map((node) => {
    const { metadata, spec, status = {} } = node
    const { capacity = {}, allocatable = {}, nodeInfo = {}, conditions = [] } = status
    const sum = requested.get(metadata.name) ?? NOTHING_REQUESTED
    const { cpu, memory } = usage.get(metadata.name) ?? {}
    const line = (text: string | undefined) => plainLine(text ?? '', LINE_MAX)
    const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(ROLE_LABEL))
    return {
      clusterId,
      clusterName,
      name: line(metadata.name),
      status: stateOf(node),
      roles: roles.map((label) => label.slice(ROLE_LABEL.length)).sort(),
      isSchedulable: spec?.unschedulable !== true,
      kubeletVersion: line(nodeInfo.kubeletVersion),
      osImage: line(nodeInfo.osImage),
      architecture: line(nodeInfo.architecture),
      containerRuntime: line(nodeInfo.containerRuntimeVersion),
      cpuCapacity: formatCores(parseForeignQuantity(capacity.cpu)),
      cpuAllocatable: formatCores(parseForeignQuantity(allocatable.cpu)),
      cpuRequested: formatCores(sum.cpu),
      memoryCapacity: formatBytes(parseForeignQuantity(capacity.memory)),
      memoryAllocatable: formatBytes(parseForeignQuantity(allocatable.memory)),
      memoryRequested: formatBytes(sum.memory),
      cpuUsage: cpu === undefined ? null : formatCores(parseForeignQuantity(cpu)),
      memoryUsage: memory === undefined ? null : formatBytes(parseForeignQuantity(memory)),
      podCount: sum.pods,
      podCapacity: Number(parseForeignQuantity(capacity.pods) / 1000n),
      conditions: conditions
        .slice(0, CONDITIONS_MAX)
        .map(({ type, status: state, reason, message, lastTransitionTime }) => ({
          type: line(type),
          status: line(state),
          reason: line(reason),
          message: line(message),
          since: lastTransitionTime ?? null,
        })),
      createdAt: createdAtOf(metadata),
    }
  })
}

/** Nodes of all clusters (interface section 4.16, records: monitoring). */
export const nodesRoute: RouteDraft = clusterListRoute('/admin/monitoring/nodes', {
  auth: action('monitoring/platform/read'),
  summary: 'The nodes of all reachable clusters',
  dto: NodeDto,
  columns: {
    name: text('Name', { isSearched: true }),
    clusterId: text('Cluster id', { isSorted: false, isShown: false }),
    status: enumeration('Status', STATES, { isSorted: false }),
    roles: text('Roles', { of: ({ roles }: NodeDto) => roles.join(','), isSorted: false }),
    cpuUsage: quantity('CPU', { isFiltered: false }),
    memoryUsage: quantity('Memory', { isFiltered: false }),
    podCount: number('Pods', { isFiltered: false }),
  },
  sort: 'name',
  name: 'name',
  id: 'clusterId',
  rowsOf: async ({ services }) => {
    const { objects } = services.monitoring
    return async (where) => {
      const reads = [objects.nodes(where), objects.pods(where), objects.nodeUsage(where)] as const
      const [nodes, pods, usage] = await Promise.all(reads)
      return nodeDtos(where, nodes, pods, usage)
    }
  },
})
