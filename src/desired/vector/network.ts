import { VECTOR_PORTS } from '../../contracts/vector.ts'
import { METRICS_LABEL } from '../../core/labels.ts'
import type { Child } from '../workload/child.ts'
import { proxyPeers } from '../workload/host.ts'
import { allowIngress, allowMetrics, networkPolicy, publicService, service, servicePort } from '../workload/network.ts'
import type { VectorInput } from './types.ts'

const CLIENT_PORTS = [servicePort('rest', VECTOR_PORTS.rest), servicePort('grpc', VECTOR_PORTS.grpc)]

/** Headless Service of the peers, also for metrics. Not-ready peers are published: they must meet to become ready. */
export function peerService(input: VectorInput): Child<'Service'> {
  const ports = [...CLIENT_PORTS, servicePort('peer', VECTOR_PORTS.peer)]
  const spec = { clusterIP: 'None', publishNotReadyAddresses: true, ports }
  return service(input, input.names.peers, spec, { [METRICS_LABEL]: 'true' })
}

export function clientService(input: VectorInput): Child<'Service'> {
  return service(input, input.names.workload, { type: 'ClusterIP', ports: CLIENT_PORTS })
}

export function loadBalancer(input: VectorInput): Child<'Service'> | undefined {
  return publicService(input, input.names.publicService, { ports: CLIENT_PORTS })
}

/** Only peers may use the peer port, which requires no key. Metrics are read on the REST port, with a key. */
export function policy(input: VectorInput): Child<'NetworkPolicy'> {
  const { rest, grpc, peer } = VECTOR_PORTS
  return networkPolicy(input, input.names.workload, {
    clientPorts: [rest, grpc],
    clients: proxyPeers(input),
    rules: [allowIngress([{ podSelector: { matchLabels: input.selector } }], [peer]), allowMetrics(rest)],
  })
}
