import { formatBytes, formatCores, isQuantity, parseQuantity } from '../../core/quantity.ts'
import { ComputePlan, type PlanFamily } from '../../crds/plans.ts'
import type { Services } from '../http/context.ts'
import type { GroupResource } from './contents.ts'

/** Sums of what resources ask for, in thousandths of a core and of a byte. */
type Sum = { cpu: bigint; memory: bigint; storage: bigint; pods: number; resources: number }

export type Usage = { cpu: string; memory: string; storage: string; pods: number; resources: number }

/** The fields of a spec that sizes come from; each kind has some of them. */
type Sized = {
  computePlan?: string
  cpuRequest?: string
  memoryRequest?: string
  storageSize?: string
  /** A second volume beside the first. */
  walStorageSize?: string
  replicas?: number
  running?: boolean
}

/** Whose default plan a resource gets that names none. */
const FAMILY_OF_KIND: Readonly<Record<string, PlanFamily>> = {
  VectorCluster: 'Vector',
  RelationalCluster: 'Relational',
  SqlInstance: 'Sql',
  ContainerInstance: 'ContainerInstance',
  App: 'App',
  FunctionNamespace: 'Function',
}

/**
 * What resources ask for together: their own sizes, else their plan's, times the replicas. What is stopped asks for its
 * volumes only. Computed from specs, so that a quota holds from the moment something is accepted.
 */
export function usageOf(services: Services, resources: readonly GroupResource[]): Usage {
  const planOf = planFinder(services)
  const sum: Sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0, resources: resources.length }
  for (const resource of resources) {
    const spec = resource.object.spec as Sized
    const plan = planOf(resource.object.kind, spec.computePlan)
    const wanted = spec.replicas ?? plan?.spec.replicas ?? 0
    const running = spec.running === false ? 0 : wanted
    sum.pods += running
    sum.cpu += times(spec.cpuRequest ?? plan?.spec.cpuRequest, running)
    sum.memory += times(spec.memoryRequest ?? plan?.spec.memoryRequest, running)
    sum.storage += times(spec.storageSize ?? plan?.spec.storageSize, wanted) + times(spec.walStorageSize, wanted)
  }
  const { pods, resources: count } = sum
  return {
    cpu: formatCores(sum.cpu),
    memory: formatBytes(sum.memory),
    storage: formatBytes(sum.storage),
    pods,
    resources: count,
  }
}

function times(quantity: string | undefined, count: number): bigint {
  return quantity === undefined || !isQuantity(quantity) ? 0n : parseQuantity(quantity) * BigInt(count)
}

function planFinder(services: Services) {
  const plans = services.records.peekAll(ComputePlan)
  const byName = new Map(plans.map((plan) => [plan.metadata.name, plan]))
  const defaults = plans
    .filter((plan) => plan.spec.isDefault)
    .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
  return (kind: string, name: string | undefined) => {
    if (name !== undefined) return byName.get(name)
    const family = FAMILY_OF_KIND[kind]
    return family === undefined ? undefined : defaults.find((plan) => plan.spec.family === family)
  }
}
