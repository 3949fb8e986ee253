import { isQuantity, parseQuantity } from '../quantity.ts'
import { type PlanFamily, type PlanOverrides, planFor, type SizingPlan } from './plans.ts'

/** How the objects of a kind count, as `defineKind` says. */
export type SizingRules = {
  sized?: PlanFamily | undefined
  isPart?: boolean | undefined
  sizesParts?: boolean | undefined
}

type Volume = { name?: string; kind: string; size?: string | undefined }
type Mounts = readonly { volume: string }[] | undefined

/** The fields of any kind that decide what it asks for; each kind has some of them. */
export type Sizable = {
  spec: PlanOverrides & {
    /** A second volume beside the first. */
    walStorageSize?: string | undefined
    replicas?: number | undefined
    /** Set if the number of replicas follows the load. */
    maxReplicas?: number | undefined
    running?: boolean | undefined
    /** Whether a part is switched on; parts can be switched off on their own. */
    enabled?: boolean | undefined
    /** Workloads that run side by side, each with its own sizes or those of a plan that it may name. */
    components?: readonly (PlanOverrides & { replicas?: number | undefined; mounts?: Mounts })[] | undefined
    volumes?: readonly Volume[] | undefined
    mounts?: Mounts
  }
  /** A resource that ends by itself asks for nothing from then on. */
  status?:
    | {
        replicas?: number
        volumes?: number
        completedAt?: string | undefined
        /** The plan that its sizes came from when it was last ready, and when it was first ready. */
        computePlan?: string | undefined
        firstReadyAt?: string | undefined
      }
    | undefined
}

/** In thousandths of a core and of a byte; `pods` is a count. */
export type Demand = { cpu: bigint; memory: bigint; storage: bigint; pods: number }

export const NO_DEMAND: Demand = { cpu: 0n, memory: 0n, storage: 0n, pods: 0 }

/** What a part inherits from the resource that it belongs to: its plan, unless it names one, and whether it runs. */
export type PartOwner = { spec: Pick<Sizable['spec'], 'computePlan' | 'running'> }

/**
 * Returns the demand of a resource; undefined if a plan of it, or the resource that a part belongs to, does not exist,
 * because it then requests nothing yet. A resource that was ready before keeps running on its last plan and counts with
 * it, if that plan still exists.
 *
 * @param holder the resource that a part belongs to
 */
export function demandUnderPlans(
  { sized, isPart = false, sizesParts = false }: SizingRules,
  object: Sizable,
  plans: readonly SizingPlan[],
  holder?: PartOwner,
): Demand | undefined {
  if (isPart && holder === undefined) return undefined
  const whole = isPart ? { ...object, spec: withOwnerPlan(object.spec, holder?.spec) } : object
  const plan = sized === undefined ? undefined : planFor(sized, whole.spec, plans)
  const named = (name: string) => plans.find(({ metadata, spec }) => metadata.name === name && spec.family === sized)
  const ownPlans = (whole.spec.components ?? []).flatMap((component) => component.computePlan ?? [])
  const hasPlan = sized === undefined || (plan?.spec.family === sized && ownPlans.every(named))
  const { firstReadyAt, computePlan } = object.status ?? {}
  if (!hasPlan && (firstReadyAt === undefined || computePlan === undefined)) return undefined
  if (sizesParts) return NO_DEMAND
  return demandOf(whole, hasPlan ? plan : named(computePlan ?? ''), named)
}

function withOwnerPlan(
  spec: Sizable['spec'],
  { computePlan, running = true }: PartOwner['spec'] = {},
): Sizable['spec'] {
  return { ...spec, computePlan: spec.computePlan ?? computePlan, running: running && spec.enabled !== false }
}

export function sumDemands(demands: readonly Demand[]): Demand {
  return demands.reduce(
    (sum, one) => ({
      cpu: sum.cpu + one.cpu,
      memory: sum.memory + one.memory,
      storage: sum.storage + one.storage,
      pods: sum.pods + one.pods,
    }),
    NO_DEMAND,
  )
}

/**
 * Returns how many copies with these requests stay within what was granted to all former copies together. A workload
 * whose change is refused keeps its sizes, and still scales with its load.
 */
export function copiesWithin(granted: Demand, each: Omit<Demand, 'pods'>): number {
  const copiesBy = (of: 'cpu' | 'memory' | 'storage') =>
    each[of] === 0n ? granted.pods : Number(granted[of] / each[of])
  return Math.min(granted.pods, copiesBy('cpu'), copiesBy('memory'), copiesBy('storage'))
}

/**
 * Returns what a resource requests over all its replicas: cpu, memory and Ephemeral volumes while it runs, storage as
 * long as it has volumes. A resource that is scaled to zero keeps the volumes of its former replicas.
 */
export function demandOf(
  { spec, status }: Sizable,
  plan: SizingPlan | undefined,
  planNamed: (name: string) => SizingPlan | undefined = () => undefined,
): Demand {
  if (spec.components !== undefined) {
    const { running, components, volumes = [] } = spec
    const disks = volumes.filter(({ kind }) => kind === 'Ephemeral')
    const parts = components.map(({ replicas = 1, ...sizes }) =>
      demandOf(
        { spec: { ...sizes, mounts: sizes.mounts ?? [], replicas, running, storageSize: '0', volumes: disks } },
        // A component whose plan is gone still runs; how large it is, is not known exactly.
        (sizes.computePlan === undefined ? undefined : planNamed(sizes.computePlan)) ?? plan,
      ),
    )
    const sum = sumDemands(parts)
    return { ...sum, storage: sum.storage + storageOf(volumes) }
  }
  const wanted = spec.maxReplicas ?? spec.replicas ?? plan?.spec.replicas ?? 0
  const running = spec.running === false || status?.completedAt !== undefined ? 0 : wanted
  const volumes = wanted > 0 ? wanted : (status?.volumes ?? status?.replicas ?? 0)
  const of = (size: 'cpuRequest' | 'memoryRequest' | 'storageSize') => parseAmount(spec[size] ?? plan?.spec[size])
  return {
    cpu: of('cpuRequest') * BigInt(running),
    memory: of('memoryRequest') * BigInt(running),
    storage:
      (of('storageSize') + parseAmount(spec.walStorageSize)) * BigInt(volumes) +
      storageOf(spec.volumes ?? []) +
      diskOf(spec) * BigInt(running),
    pods: running,
  }
}

/** Node disk that each copy reserves for Ephemeral volumes. They end with the copy, so only running copies count. */
const diskOf = ({ volumes = [], mounts }: Sizable['spec']) =>
  volumes.reduce((sum, { name, kind, size }) => {
    // A resource without components mounts all of its volumes.
    const isMounted = mounts?.some(({ volume }) => volume === name) ?? true
    return sum + (kind === 'Ephemeral' && isMounted ? parseAmount(size) : 0n)
  }, 0n)

const storageOf = (volumes: NonNullable<Sizable['spec']['volumes']>) =>
  volumes.reduce((sum, { kind, size }) => sum + (kind === 'Persistent' ? parseAmount(size) : 0n), 0n)

const parseAmount = (quantity: string | undefined) =>
  quantity !== undefined && isQuantity(quantity) ? parseQuantity(quantity) : 0n
