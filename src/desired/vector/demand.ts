import { formatBytes, formatCores, parseQuantity } from '../../core/quantity.ts'
import type { EffectivePlan } from '../plans.ts'

/** What a vector database asks for over all its peers: requests while it runs, storage also while it does not. */
export function vectorDemand(
  plan: EffectivePlan,
  peers: { replicas: number; running: boolean },
): { cpu: string; memory: string; storage: string; pods: number } {
  const running = peers.running ? peers.replicas : 0
  return {
    cpu: formatCores(parseQuantity(plan.cpuRequest) * BigInt(running)),
    memory: formatBytes(parseQuantity(plan.memoryRequest) * BigInt(running)),
    storage: formatBytes(parseQuantity(plan.storageSize ?? '0') * BigInt(peers.replicas)),
    pods: running,
  }
}
