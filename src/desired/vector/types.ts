import { type VectorKey, type VectorNames, vectorNames } from '../../contracts/vector.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'
import type { Hosted } from '../workload/host.ts'

/** What the steps decide about a vector database, beyond what its spec says. */
export type VectorDecisions = Hosted & {
  cluster: VectorCluster
  plan: EffectivePlan
  incarnation: string
  /** Peers to run now: what is asked for, or more while a peer is being emptied, or 0 while stopped. */
  peers: number
  /** The keys that a pod started now is given; undefined if keys are switched off. */
  keys: PodKeys | undefined
}

/** Everything that the children of a vector database depend on, decided before. */
export type VectorInput = VectorDecisions & WorkloadInput<VectorNames>

/** Which generation of keys a pod accepts. `alternative` is accepted too, by engines that can (a rotation without a gap). */
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
