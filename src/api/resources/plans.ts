import { z } from 'zod'
import { notFound } from '../../core/errors.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { parseQuantity } from '../../core/quantity.ts'
import type { PlanFamily } from '../../core/sizing/plans.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { findVisibleBoundary, visibleBoundaryAuth } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { pagedListOf, wholeRecord } from './dto.ts'
import { defaultCluster, defaultClusterOf } from './find.ts'
import { pagedParts } from './pages.ts'
import { enumeration, flag, type ListShape, quantity, text } from './paging.ts'

type Plan = RecordOf<typeof ComputePlan>

/** In thousandths of a core and of a byte. */
export type ComputeAmounts = { readonly cpu: bigint; readonly memory: bigint }

/** What the nodes of the platform's own cluster have. */
export interface Capacity {
  /** What all pods request; undefined if that is not known. */
  requested(): ComputeAmounts | undefined
  /** What each node that accepts pods has left for new ones; undefined if that is not known. */
  freeNodeCapacities(): readonly ComputeAmounts[] | undefined
}

declare module '../http/context.ts' {
  interface Services {
    readonly capacity: Capacity
  }
}

export const PLAN_VERDICTS = ['Fits', 'Tight', 'DoesNotFit', 'Unknown'] as const
export type PlanVerdict = { verdict: (typeof PLAN_VERDICTS)[number]; verdictReason: string | null }

/** The fields of VectorResourcePlanDto, which the plans of all areas share (records: plans). */
export const planFields = {
  cpuLimit: z.string(),
  cpuRequest: z.string(),
  description: z.string(),
  id: z.string().describe('What computePlan takes'),
  isProductionReady: z.boolean().describe('Whether the loss of a node loses neither the service nor its data'),
  memoryLimit: z.string(),
  memoryRequest: z.string(),
  name: z.string(),
  replicas: z.int(),
  storageClass: z.string(),
  storageSize: z.string(),
  verdict: z
    .enum(PLAN_VERDICTS)
    .describe("Whether a new resource of this plan would find room on the boundary's cluster"),
  verdictReason: z.string().nullable().describe('Null only if it fits'),
}
const PlanDto = z.object(planFields)
export type PlanDto = z.output<typeof PlanDto>

/** 20 % headroom: a quarter more than what is requested. */
const TIGHT_NUMERATOR = 5n
const TIGHT_DENOMINATOR = 4n

/** Whether the replicas of a plan fit on the nodes now, judged by requests, as the scheduler does. */
export function planVerdictOf(
  plan: Pick<Plan['spec'], 'cpuRequest' | 'memoryRequest' | 'replicas'>,
  nodes: readonly ComputeAmounts[] | undefined,
): PlanVerdict {
  if (nodes === undefined)
    return { verdict: 'Unknown', verdictReason: 'The room on the nodes of the cluster is not known.' }
  const each = { cpu: parseQuantity(plan.cpuRequest), memory: parseQuantity(plan.memoryRequest) }
  const placed = countPlacements(each, plan.replicas, nodes)
  if (placed < plan.replicas) {
    const verdictReason = `Only ${placed} of ${pluralize(plan.replicas, 'replica')} with ${plan.cpuRequest} cpu and ${plan.memoryRequest} memory ${pluralizeVerb(plan.replicas, 'finds', 'find')} a node.`
    return { verdict: 'DoesNotFit', verdictReason }
  }
  const more = {
    cpu: (each.cpu * TIGHT_NUMERATOR) / TIGHT_DENOMINATOR,
    memory: (each.memory * TIGHT_NUMERATOR) / TIGHT_DENOMINATOR,
  }
  if (countPlacements(more, plan.replicas, nodes) < plan.replicas) {
    return { verdict: 'Tight', verdictReason: 'It fits with less than 20 % of headroom.' }
  }
  return { verdict: 'Fits', verdictReason: null }
}

/** Returns how many fit if each takes the node with the most memory left. */
function countPlacements(each: ComputeAmounts, count: number, nodes: readonly ComputeAmounts[]): number {
  const left = nodes.map((node) => ({ ...node }))
  for (let placed = 0; placed < count; placed += 1) {
    const fitting = left.filter((node) => node.cpu >= each.cpu && node.memory >= each.memory)
    const best = fitting.reduce<{ cpu: bigint; memory: bigint } | undefined>(
      (most, node) => (most === undefined || node.memory > most.memory ? node : most),
      undefined,
    )
    if (best === undefined) return placed
    best.cpu -= each.cpu
    best.memory -= each.memory
  }
  return count
}

/** The cluster of a boundary's new resources that name none. */
type PlanCluster = {
  readonly nodes: readonly ComputeAmounts[] | undefined
  readonly survivesNode: (plan: Plan) => boolean
}

function planClusterOf(services: Services, boundaryId: string): PlanCluster {
  const { id } = defaultClusterOf(services, boundaryId)
  const classes = services.records.peek(PlatformCluster, { name: id })?.status?.storageClasses ?? []
  return {
    // The nodes of other clusters are not watched here.
    nodes: id === defaultCluster(services).id ? services.capacity.freeNodeCapacities() : undefined,
    survivesNode({ spec: { storageSize, storageClass } }) {
      if (storageSize === undefined) return true
      const used = classes.find(({ name, isDefault }) => (storageClass === '' ? isDefault : name === storageClass))
      return used?.survivesNode === true
    },
  }
}

function planDto(plan: Plan, { nodes, survivesNode }: PlanCluster, productionReplicas: number): PlanDto {
  const { spec, metadata } = plan
  return wholeRecord(PlanDto, {
    ...spec,
    id: metadata.name,
    name: spec.displayName,
    isProductionReady: spec.replicas >= productionReplicas && survivesNode(plan),
    storageSize: spec.storageSize ?? '',
    ...planVerdictOf(spec, nodes),
  })
}

const planShape: ListShape<PlanDto> = {
  fields: {
    name: text('Name', { isSearched: true }),
    verdict: enumeration('Verdict', PLAN_VERDICTS, { isSorted: false }),
    isProductionReady: flag('For production'),
    memoryRequest: quantity('Memory', { isFiltered: false }),
    cpuRequest: quantity('CPU', { isFiltered: false }),
  },
  defaultSort: 'memoryRequest',
  nameOf: (plan) => plan.name,
  idOf: (plan) => plan.id,
}

export type PlanRoutes = {
  family: PlanFamily
  dto: z.ZodType
  /** The number of replicas from which a plan is for production. */
  productionReplicas: number
  /** Who may list them; whoever can see the boundary if absent. */
  auth?: Authorization
  /** Fields of this family's plans beyond those that all have. */
  more?: (plan: Plan) => object
}

/** The two plan routes of an area: signed-in callers who can see the boundary. Their 500 is a problem-details body. */
export function planRoutes({
  family,
  dto,
  productionReplicas,
  auth = visibleBoundaryAuth(),
  more,
}: PlanRoutes): RouteDraft[] {
  const path = `{B}/resources/${family.toLowerCase()}computeplans` as string
  const toDto = (plan: Plan, cluster: PlanCluster) => ({
    ...planDto(plan, cluster, productionReplicas),
    ...more?.(plan),
  })
  const plansOf = ({ records }: Services) => records.peekAll(ComputePlan).filter(({ spec }) => spec.family === family)
  return [
    route('GET', path, {
      auth,
      summary: `Compute plans of family ${family}, each with whether it would fit now`,
      list: planShape,
      reply: pagedListOf(dto),
      errors: 'problem of 500',
      handler: async (context) => {
        const { boundaryId = '' } = context.parameters
        await findVisibleBoundary(context, boundaryId)
        const cluster = planClusterOf(context.services, boundaryId)
        const plans = plansOf(context.services).map((plan) => toDto(plan, cluster))
        return pagedParts(plans, context.list, planShape, (plan) => plan)
      },
    }),
    route('GET', `${path}/{resourceId}` as string, {
      auth,
      summary: `One compute plan of family ${family}`,
      reply: dto,
      errors: 'problem of 500',
      handler: async (context) => {
        const { boundaryId = '', resourceId: id } = context.parameters
        await findVisibleBoundary(context, boundaryId)
        const plan = plansOf(context.services).find(({ metadata }) => metadata.name === id)
        if (plan === undefined) throw notFound(`Compute plan "${id}" of family ${family}`)
        return ok(toDto(plan, planClusterOf(context.services, boundaryId)), { etag: etagOf(plan) })
      },
    }),
  ]
}
