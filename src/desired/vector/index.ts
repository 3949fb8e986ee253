import { encodeVectorKeys, VECTOR_PORTS, type VectorKeys } from '../../contracts/vector.ts'
import type { KubeObject } from '../../core/object.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { configMap, secret } from '../workload/child.ts'
import { httpRoute, ingress } from '../workload/host.ts'
import { podDisruptionBudget } from '../workload/network.ts'
import { PRODUCTION_YAML } from './config.ts'
import { clientService, loadBalancer, peerService, policy } from './network.ts'
import { type VectorInput, vectorShared } from './types.ts'

export { type CollectionView, type DrainAction, nextDrainAction } from './drain.ts'
export { podKeys, promotePendingKey, wantedKeys } from './rotation.ts'
export { existingVersion, KEY_ANNOTATION, vectorWorkload, versionOfVectorImage, withKeys } from './statefulSet.ts'
export { type VectorInput, vectorInput } from './types.ts'

/**
 * Returns all children but the Secret, which is written before, and the StatefulSet, which is written last so that pods
 * find what they mount. Other children are pruned.
 */
export function vectorAuxiliaryChildren(input: VectorInput): KubeObject[] {
  const { names, peers } = input
  const backend = { name: names.workload, port: { name: 'rest', number: VECTOR_PORTS.rest } }
  const objects = [
    configMap(input, names.config, { 'production.yaml': PRODUCTION_YAML }),
    peerService(input),
    clientService(input),
    policy(input),
    loadBalancer(input),
    ingress(input, backend),
    httpRoute(input, backend),
    podDisruptionBudget(input, names.workload, peers),
  ]
  return objects.filter((object) => object !== undefined)
}

/** The Secret with the keys. Keys are generated elsewhere. */
export function keySecret(cluster: VectorCluster, keys: VectorKeys) {
  const shared = vectorShared(cluster)
  return secret(shared, shared.names.keys, encodeVectorKeys(keys))
}
