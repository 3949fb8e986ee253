import { encodeVectorKeys, VECTOR_PORTS, type VectorKeys } from '../../contracts/vector.ts'
import { METRICS_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { type Child, configMap, secret } from '../workload/child.ts'
import { httpRoute, ingress, proxyPeers } from '../workload/host.ts'
import {
  allowIngress,
  allowMetrics,
  networkPolicy,
  podDisruptionBudget,
  publicService,
  service,
  servicePort,
} from '../workload/network.ts'
import { PRODUCTION_YAML } from './config.ts'
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

const CLIENT_PORTS = [servicePort('rest', VECTOR_PORTS.rest), servicePort('grpc', VECTOR_PORTS.grpc)]

/** Headless Service of the peers, also for metrics. Not-ready peers are published: they must meet to become ready. */
function peerService(input: VectorInput): Child<'Service'> {
  const ports = [...CLIENT_PORTS, servicePort('peer', VECTOR_PORTS.peer)]
  const spec = { clusterIP: 'None', publishNotReadyAddresses: true, ports }
  return service(input, input.names.peers, spec, { [METRICS_LABEL]: 'true' })
}

function clientService(input: VectorInput): Child<'Service'> {
  return service(input, input.names.workload, { type: 'ClusterIP', ports: CLIENT_PORTS })
}

function loadBalancer(input: VectorInput): Child<'Service'> | undefined {
  return publicService(input, input.names.publicService, { ports: CLIENT_PORTS })
}

/** Only peers may use the peer port, which requires no key. Metrics are read on the REST port, with a key. */
function policy(input: VectorInput): Child<'NetworkPolicy'> {
  const { rest, grpc, peer } = VECTOR_PORTS
  return networkPolicy(input, input.names.workload, {
    clientPorts: [rest, grpc],
    clients: proxyPeers(input),
    rules: [allowIngress([{ podSelector: { matchLabels: input.selector } }], [peer]), allowMetrics(rest)],
  })
}
