import type { VectorKey } from '../../contracts/vector.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { Gateway } from '../../crds/clusters.ts'
import type { VectorCluster } from '../../crds/vector.ts'

/** Everything that the children of a vector database depend on, decided before. */
export type VectorInput = {
  cluster: VectorCluster
  plan: EffectivePlan
  incarnation: string
  /** Peers to run now: what is asked for, or more while a peer is being emptied, or 0 while stopped. */
  peers: number
  /** The keys that a pod started now is given; undefined where keys are switched off. */
  keys: PodKeys | undefined
  /** The public host, claimed before; undefined for none. */
  host: string | undefined
  ingressClassName: string | undefined
  /** What takes the place of an Ingress; undefined where the cluster has none, or no type for its routes. */
  gateway: Gateway | undefined
}

/** Which generation of keys a pod accepts. `alternative` is accepted too, by engines that can (a rotation without a gap). */
export type PodKeys = {
  main: Pick<VectorKey, 'version' | 'id'>
  alternative: Pick<VectorKey, 'version' | 'id'> | undefined
}

/** A child before it is owned: name, namespace, labels and the fields that we decide. */
export type Child<Kind extends string, Fields extends object> = {
  apiVersion: string
  kind: Kind
  metadata: ObjectMeta
} & Fields
