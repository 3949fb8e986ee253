import type { KubeObject } from '../../core/object.ts'
import { configMap } from './config.ts'
import { clientService, ingress, networkPolicy, peerService, podDisruptionBudget, publicService } from './network.ts'
import { httpRoute } from './route.ts'
import { statefulSet } from './statefulSet.ts'
import type { VectorInput } from './types.ts'

export { type CollectionView, type DrainAction, nextDrainAction } from './drain.ts'
export { keySecret } from './keys.ts'
export { INGRESS_NAMESPACE_LABEL } from './network.ts'
export { podKeys, settledKeys, wantedKeys } from './rotation.ts'
export { type HttpRoute, judgeRoute, type RouteVerdict, routeObstacle } from './route.ts'
export { KEY_ANNOTATION, statefulSet, vectorImage } from './statefulSet.ts'
export type { PodKeys, VectorInput } from './types.ts'

/**
 * The children of a vector database in the order in which they are written, without the Secret (which comes first) and
 * the StatefulSet (which comes last, so that pods find what they mount). What is missing here is pruned.
 */
export function vectorSurroundings(input: VectorInput): KubeObject[] {
  const objects = [
    configMap(input),
    peerService(input),
    clientService(input),
    networkPolicy(input),
    publicService(input),
    ingress(input),
    httpRoute(input),
    podDisruptionBudget(input),
  ]
  return objects.filter((object) => object !== undefined)
}

export function vectorWorkload(input: VectorInput): KubeObject {
  return statefulSet(input)
}
