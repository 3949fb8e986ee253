import { z } from 'zod'
import { defaultVectorHost } from '../../contracts/vector.ts'
import { VECTOR_VERSIONS, type VectorCluster } from '../../crds/vector.ts'
import { isEqual } from '../records/mergePatch.ts'
import type { RecordOf } from '../records/records.ts'
import { headFields, recordSchemas, Tags, Uuid } from '../resources/dto.ts'
import { headOf } from '../resources/shape.ts'
import { effectiveSizes, PlanId, planOf, QuantityText, shownPlan } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type VectorObject = RecordOf<typeof VectorCluster>
export type VectorSpec = VectorObject['spec']
export type VectorView = ResourceView<typeof VectorCluster>
export const COLLECTION = 'vectorclusters'

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
    clusterId: Uuid.describe("Where it runs; the platform's own cluster when absent"),
    allowedCidrs: z.string().max(2400).nullable().describe('Networks that may use the public paths; null for all'),
    apiKeyEnabled: z.boolean(),
    computePlan: PlanId.nullable().describe('A plan of family Vector; its default when absent'),
    resourcePlanId: PlanId.nullable().describe('The same as computePlan'),
    cpuLimit: QuantityText.nullable(),
    cpuRequest: QuantityText.nullable().describe("Overrides the plan's"),
    enableIngress: z.boolean(),
    enableLoadBalancer: z.boolean(),
    imageName: z.string().min(1).max(255).nullable().describe('An image of your own, where the platform allows it'),
    ingressHost: z.string().max(253).nullable(),
    memoryLimit: QuantityText.nullable(),
    memoryRequest: QuantityText.nullable(),
    vectorVersion: z.enum(VECTOR_VERSIONS).describe('Up one minor version at a time, never down'),
    replicas: z.int().min(0).max(99).nullable().describe('0 keeps the data and runs nothing'),
    storageClass: z.string().max(63).nullable(),
    storageSize: QuantityText.nullable().describe('Grows only'),
    tags: Tags,
  },
)
export type VectorBody = z.output<typeof vectorRecord.body>
export type VectorClusterDto = z.output<typeof vectorRecord.dto>

/** The host that it has or will have; undefined where it has none. */
export function hostOf(view: Pick<VectorView, 'object' | 'cluster'>): string | undefined {
  const { spec, status, metadata } = view.object
  if (spec.ingressHost !== undefined || !spec.enableIngress) return spec.ingressHost
  return status?.ingressHost ?? defaultVectorHost(metadata.namespace ?? '', metadata.name, view.cluster.domain)
}

export function vectorDto(view: VectorView): VectorClusterDto {
  const { spec, status } = view.object
  const plan = planOf(view.services, 'Vector', spec)
  const planId = shownPlan(spec, plan)
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
