import { z } from 'zod'
import { RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { QUANTITY_PATTERN } from '../../core/quantity.ts'
import { defaultVectorHost } from '../../core/vector.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { VECTOR_VERSIONS, type VectorCluster } from '../../crds/vector.ts'
import type { Services } from '../context.ts'
import { headFields, recordSchemas, Tags, Uuid } from '../dto.ts'
import { isEqual } from '../mergePatch.ts'
import type { RecordOf } from '../records.ts'
import type { ResourceView } from '../resource.ts'
import { headOf } from '../resourceShape.ts'

export type VectorObject = RecordOf<typeof VectorCluster>
export type VectorSpec = VectorObject['spec']
export type VectorView = ResourceView<typeof VectorCluster>
export const COLLECTION = 'vectorclusters'

const Quantity = z.string().max(32).regex(new RegExp(QUANTITY_PATTERN), 'must be a positive Kubernetes quantity')
const PlanId = z.string().max(52).regex(new RegExp(RESOURCE_NAME_PATTERN), 'must be the id of a compute plan')

const { collection, boundary, boundaryId, resourceGroup, ...otherHead } = headFields

/** VectorClusterDto (records: vector databases). */
export const vectorRecord = recordSchemas(
  'VectorClusterDto',
  {
    boundary,
    boundaryId,
    resourceGroup,
    collection,
    ...otherHead,
    publicEndpoint: z.string().nullable().describe('Where it is reached from outside, once it is'),
    readyReplicas: z.int().nullable(),
  },
  {
    clusterId: Uuid.describe("Where it runs; the boundary's default cluster when absent"),
    allowedCidrs: z.string().max(2400).nullable().describe('Networks that may use the public paths; null for all'),
    apiKeyEnabled: z.boolean(),
    computePlan: PlanId.nullable().describe('A plan of family Vector; its default when absent'),
    resourcePlanId: PlanId.nullable().describe('The same as computePlan'),
    cpuLimit: Quantity.nullable(),
    cpuRequest: Quantity.nullable().describe("Overrides the plan's"),
    enableIngress: z.boolean(),
    enableLoadBalancer: z.boolean(),
    imageName: z.string().min(1).max(255).nullable().describe('An image of your own, where the platform allows it'),
    ingressHost: z.string().max(253).nullable(),
    memoryLimit: Quantity.nullable(),
    memoryRequest: Quantity.nullable(),
    vectorVersion: z.enum(VECTOR_VERSIONS).describe('Up one minor version at a time, never down'),
    replicas: z.int().min(0).max(99).nullable().describe('0 keeps the data and runs nothing'),
    storageClass: z.string().max(63).nullable(),
    storageSize: Quantity.nullable().describe('Grows only'),
    tags: Tags,
  },
)
export type VectorBody = z.output<typeof vectorRecord.body>
export type VectorClusterDto = z.output<typeof vectorRecord.dto>

/** The fields of a spec that a plan also has. */
export const SIZES = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit', 'storageSize', 'storageClass'] as const
export type Size = (typeof SIZES)[number]

export type Plan = RecordOf<typeof ComputePlan>

export function vectorPlan(services: Services, name: string): Plan | undefined {
  return services.records.peek(ComputePlan, { name })
}

/** The plan of who names none. Where two claim to be the default, the first by name, so that everybody sees the same. */
export function defaultVectorPlan(services: Services): Plan | undefined {
  const plans = services.records.peekAll(ComputePlan).filter(({ spec }) => spec.family === 'Vector' && spec.isDefault)
  return plans.sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))[0]
}

/** Whether a spec says all that a plan would, save storage and replicas. */
export function isSizedByItself(sizes: { readonly [Name in Size]?: string | null | undefined }): boolean {
  const needed = [sizes.cpuRequest, sizes.cpuLimit, sizes.memoryRequest, sizes.memoryLimit]
  return needed.every((size) => size !== undefined && size !== null)
}

/** What a spec really gets: its own sizes, else the plan's; null where neither says. */
export function effectiveSizes(spec: VectorSpec, plan: Plan | undefined): Record<Size, string | null> {
  const of = (size: Size) => spec[size] ?? (plan?.spec[size] || null)
  return Object.fromEntries(SIZES.map((size) => [size, of(size)])) as Record<Size, string | null>
}

/** The plan that a stored spec follows. */
export function planOf(services: Services, spec: VectorSpec): Plan | undefined {
  return spec.computePlan === undefined ? defaultVectorPlan(services) : vectorPlan(services, spec.computePlan)
}

/** The host that it has or will have; undefined where it has none. */
export function hostOf(view: Pick<VectorView, 'object' | 'cluster'>): string | undefined {
  const { spec, status, metadata } = view.object
  if (spec.ingressHost !== undefined || !spec.enableIngress) return spec.ingressHost
  return status?.ingressHost ?? defaultVectorHost(metadata.namespace ?? '', metadata.name, view.cluster.domain)
}

export function vectorDto(view: VectorView): VectorClusterDto {
  const { spec, status } = view.object
  const plan = planOf(view.services, spec)
  const planId = spec.computePlan ?? (isSizedByItself(spec) ? null : (plan?.metadata.name ?? null))
  return {
    ...headOf(view as unknown as ResourceView, COLLECTION),
    ...effectiveSizes(spec, plan),
    allowedCidrs: spec.allowedCidrs ?? null,
    apiKeyEnabled: spec.apiKeyEnabled,
    computePlan: planId,
    resourcePlanId: planId,
    enableIngress: spec.enableIngress,
    enableLoadBalancer: spec.enableLoadBalancer,
    imageName: spec.imageName ?? null,
    ingressHost: hostOf(view) ?? null,
    publicEndpoint: status?.publicEndpoint ?? null,
    vectorVersion: spec.vectorVersion,
    readyReplicas: status?.readyReplicas ?? null,
    replicas: spec.replicas ?? plan?.spec.replicas ?? null,
    tags: spec.tags,
  }
}

/** The stored form, where an absent size means the plan's: what a merge patch is laid over. */
export function storedBody({ spec }: VectorObject): VectorBody {
  const { running: _running, restartedAt: _restarted, onDelete: _onDelete, apiKeyVersion: _version, ...body } = spec
  return Object.fromEntries(Object.entries(body).filter(([, value]) => !isEqual(value, undefined))) as VectorBody
}
