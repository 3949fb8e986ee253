import { isQuantity, parseQuantity } from '../quantity.ts'
import { type PlanFamily, type PlanOverrides, planFor, type SizingPlan } from './plans.ts'

/** The fields of any kind that decide what it asks for; each kind has some of them. */
export type Sizable = {
  spec: PlanOverrides & {
    /** A second volume beside the first. */
    walStorageSize?: string | undefined
    replicas?: number | undefined
    /** Where the number follows the load. */
    maxReplicas?: number | undefined
    running?: boolean | undefined
    /** What runs beside each other, each with sizes of its own or of a plan that it may name. */
    components?: readonly (PlanOverrides & { replicas?: number | undefined })[] | undefined
    volumes?: readonly { kind: string; size?: string | undefined }[] | undefined
  }
  /** A resource that ends by itself asks for nothing from then on. */
  status?: { replicas?: number; volumes?: number; completedAt?: string | undefined } | undefined
}

/** In thousandths of a core and of a byte; `pods` is a count. */
export type Demand = { cpu: bigint; memory: bigint; storage: bigint; pods: number }

/** Undefined for a resource whose plan does not exist: it requests nothing yet. */
export function demandUnderPlans(
  family: PlanFamily | undefined,
  object: Sizable,
  plans: readonly SizingPlan[],
): Demand | undefined {
  const plan = family === undefined ? undefined : planFor(family, object.spec, plans)
  if (family !== undefined && plan?.spec.family !== family) return undefined
  return demandOf(object, plan, (name) => plans.find(({ metadata }) => metadata.name === name))
}

/**
 * What a resource asks for over all its replicas: cpu and memory while it runs, storage as long as it has volumes. One
 * that is scaled to zero keeps the volumes of the replicas that it had.
 */
export function demandOf(
  { spec, status }: Sizable,
  plan: SizingPlan | undefined,
  planNamed: (name: string) => SizingPlan | undefined = () => undefined,
): Demand {
  if (spec.components !== undefined) {
    const { running, components, volumes = [] } = spec
    const parts = components.map(({ replicas = 1, ...sizes }) =>
      demandOf(
        { spec: { ...sizes, replicas, running } },
        sizes.computePlan === undefined ? plan : planNamed(sizes.computePlan),
      ),
    )
    return {
      cpu: parts.reduce((sum, { cpu }) => sum + cpu, 0n),
      memory: parts.reduce((sum, { memory }) => sum + memory, 0n),
      storage: storageOf(volumes),
      pods: parts.reduce((sum, { pods }) => sum + pods, 0),
    }
  }
  const wanted = spec.maxReplicas ?? spec.replicas ?? plan?.spec.replicas ?? 0
  const running = spec.running === false || status?.completedAt !== undefined ? 0 : wanted
  const volumes = wanted > 0 ? wanted : (status?.volumes ?? status?.replicas ?? 0)
  const of = (size: 'cpuRequest' | 'memoryRequest' | 'storageSize') => amount(spec[size] ?? plan?.spec[size])
  return {
    cpu: of('cpuRequest') * BigInt(running),
    memory: of('memoryRequest') * BigInt(running),
    storage: (of('storageSize') + amount(spec.walStorageSize)) * BigInt(volumes) + storageOf(spec.volumes ?? []),
    pods: running,
  }
}

const storageOf = (volumes: NonNullable<Sizable['spec']['volumes']>) =>
  volumes.reduce((sum, { kind, size }) => sum + (kind === 'Persistent' ? amount(size) : 0n), 0n)

const amount = (quantity: string | undefined) =>
  quantity !== undefined && isQuantity(quantity) ? parseQuantity(quantity) : 0n
