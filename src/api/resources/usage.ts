import { formatBytes, formatCores } from '../../core/quantity.ts'
import { demandOf, type Sizable } from '../../core/sizing/demand.ts'
import { planFor } from '../../core/sizing/plans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { Services } from '../http/context.ts'
import type { GroupResource } from './contents.ts'

export type Usage = { cpu: string; memory: string; storage: string; pods: number; resources: number }

/**
 * What resources ask for together. Computed from specs, so that a quota holds from the moment something is accepted.
 */
export function usageOf({ records }: Services, resources: readonly GroupResource[]): Usage {
  const plans = records.peekAll(ComputePlan)
  const sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0 }
  for (const { kind, object } of resources) {
    const { sized } = kind
    const resource = object as unknown as Sizable
    const demand = demandOf(resource, sized && planFor(sized, resource.spec, plans))
    sum.cpu += demand.cpu
    sum.memory += demand.memory
    sum.storage += demand.storage
    sum.pods += demand.pods
  }
  return {
    cpu: formatCores(sum.cpu),
    memory: formatBytes(sum.memory),
    storage: formatBytes(sum.storage),
    pods: sum.pods,
    resources: resources.length,
  }
}
