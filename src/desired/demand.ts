import { formatBytes, formatCores, parseQuantity } from '../core/quantity.ts'
import type { EffectivePlan } from './plans.ts'

/** What a resource asks for over all its replicas: requests while it runs, storage also while it does not. */
export function demandOf(
  plan: EffectivePlan,
  what: { replicas: number; running: boolean; extraStorage?: string | undefined },
): { cpu: string; memory: string; storage: string; pods: number } {
  const running = what.running ? what.replicas : 0
  const storage = parseQuantity(plan.storageSize ?? '0') + parseQuantity(what.extraStorage ?? '0')
  return {
    cpu: formatCores(parseQuantity(plan.cpuRequest) * BigInt(running)),
    memory: formatBytes(parseQuantity(plan.memoryRequest) * BigInt(running)),
    storage: formatBytes(storage * BigInt(what.replicas)),
    pods: running,
  }
}
