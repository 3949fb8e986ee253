import { type VectorKey, type VectorNames, vectorNames } from '../../contracts/vector.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'
import type { Hosted } from '../workload/host.ts'

/** What the reconcile steps decide beyond the spec. */
export type VectorDecisions = Hosted & {
  cluster: VectorCluster
  plan: EffectivePlan
  incarnation: string
  /** Peers to run now: the requested number, more while a peer is drained, 0 while stopped. */
  peers: number
  /** Keys for a pod started now; undefined if keys are disabled. */
  keys: PodKeys | undefined
}

/** Everything that the children of a vector database depend on, resolved beforehand. */
export type VectorInput = VectorDecisions & WorkloadInput<VectorNames>

/** The key generation that a pod accepts. Engines that can also accept `alternative`, for a rotation without a gap. */
export type PodKeys = {
  main: Pick<VectorKey, 'version' | 'id'>
  alternative: Pick<VectorKey, 'version' | 'id'> | undefined
}

export function vectorShared(cluster: VectorCluster): WorkloadInput<VectorNames> {
  return workloadInput(cluster, vectorNames(cluster.metadata.name), 'qdrant')
}

export function vectorInput(decided: VectorDecisions): VectorInput {
  return { ...vectorShared(decided.cluster), ...decided }
}
