import { sourceRanges, VECTOR_PORTS, vectorNames, vectorSelector } from '../../contracts/vector.ts'
import { METRICS_LABEL, METRICS_READER_LABEL, PREFIX } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { metadataOf } from './metadata.ts'
import type { Child, VectorInput } from './types.ts'

/** On the namespace of an ingress controller, set by the administrator: its pods may reach what has an Ingress. */
export const INGRESS_NAMESPACE_LABEL = `${PREFIX}ingress-controller`

export type WithSpec = { spec: Record<string, unknown> }

const port = (name: keyof typeof VECTOR_PORTS) => ({
  name,
  port: VECTOR_PORTS[name],
  targetPort: name,
  protocol: 'TCP',
})

function service(input: VectorInput, name: string, spec: object): Child<'Service', WithSpec> {
  const selector = vectorSelector(input.cluster.metadata.name)
  return { apiVersion: 'v1', kind: 'Service', metadata: metadataOf(input, name), spec: { selector, ...spec } }
}

/** Peers find each other by name before they are ready, or none would ever become so. It is where metrics are read. */
export function peerService(input: VectorInput): Child<'Service', WithSpec> {
  const made = service(input, vectorNames(input.cluster.metadata.name).peers, {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    ports: [port('rest'), port('grpc'), port('peer')],
  })
  return { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, [METRICS_LABEL]: 'true' } } }
}

export function clientService(input: VectorInput): Child<'Service', WithSpec> {
  return service(input, vectorNames(input.cluster.metadata.name).workload, {
    type: 'ClusterIP',
    ports: [port('rest'), port('grpc')],
  })
}

/** A Service of its own, so that switching it on and off never touches the address that clients inside use. */
export function publicService(input: VectorInput): Child<'Service', WithSpec> | undefined {
  if (!input.cluster.spec.enableLoadBalancer) return undefined
  const ranges = sourceRanges(input.cluster.spec.allowedCidrs)
  return service(input, vectorNames(input.cluster.metadata.name).publicService, {
    type: 'LoadBalancer',
    // The peer sees the client's own address, which the network policy judges too.
    externalTrafficPolicy: 'Local',
    ports: [port('rest'), port('grpc')],
    ...(ranges === undefined ? {} : { loadBalancerSourceRanges: ranges }),
  })
}

/**
 * The Ingress of the REST port. Which clients may use it is not part of the Ingress standard: for ingress-nginx there
 * is an annotation, other controllers want objects of their own (docs/areas/vector.md).
 */
export function ingress(input: VectorInput): Child<'Ingress', WithSpec> | undefined {
  const { host, ingressClassName, gateway } = input
  if (host === undefined || gateway !== undefined) return undefined
  const { workload } = vectorNames(input.cluster.metadata.name)
  const ranges = sourceRanges(input.cluster.spec.allowedCidrs)
  const annotations = ranges && { 'nginx.ingress.kubernetes.io/whitelist-source-range': ranges.join(',') }
  const backend = { service: { name: workload, port: { name: 'rest' } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadataOf(input, workload, annotations),
    spec: {
      ...(ingressClassName === undefined ? {} : { ingressClassName }),
      // Without a Secret the controller serves its default certificate, which covers the cluster's domain.
      tls: [{ hosts: [host] }],
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
    },
  }
}

/**
 * Who may reach the peers: the group and the platform on the client ports, the outside where it was switched on, and
 * only peers on the peer port, which knows no key. Metrics are read on the REST port, with a key.
 */
export function networkPolicy(input: VectorInput): Child<'NetworkPolicy', WithSpec> {
  const { metadata, spec } = input.cluster
  const podSelector = { matchLabels: vectorSelector(metadata.name) }
  const clientPorts = [VECTOR_PORTS.rest, VECTOR_PORTS.grpc].map((number) => ({ port: number, protocol: 'TCP' }))
  const inside: object[] = [
    { podSelector: {} },
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM_NAMESPACE } } },
  ]
  if (input.host !== undefined) inside.push(...proxies(input))
  const outside = spec.enableLoadBalancer ? (sourceRanges(spec.allowedCidrs) ?? ['0.0.0.0/0', '::/0']) : []
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(input, vectorNames(metadata.name).workload),
    spec: {
      podSelector,
      policyTypes: ['Ingress'],
      ingress: [
        { from: [...inside, ...outside.map((cidr) => ({ ipBlock: { cidr } }))], ports: clientPorts },
        { from: [{ podSelector }], ports: [{ port: VECTOR_PORTS.peer, protocol: 'TCP' }] },
        {
          from: [{ namespaceSelector: { matchLabels: { [METRICS_READER_LABEL]: 'true' } } }],
          ports: [{ port: VECTOR_PORTS.rest, protocol: 'TCP' }],
        },
      ],
    },
  }
}

/** Where what serves the host may stand: its pods are in the Gateway's namespace, or where the administrator says. */
function proxies({ gateway }: VectorInput): object[] {
  const namespaces: Record<string, string>[] = [{ [INGRESS_NAMESPACE_LABEL]: 'true' }]
  if (gateway !== undefined) namespaces.push({ 'kubernetes.io/metadata.name': gateway.namespace })
  return namespaces.map((matchLabels) => ({ namespaceSelector: { matchLabels } }))
}

/** One peer at a time. A single peer has none: a budget of zero would block every node drain for ever. */
export function podDisruptionBudget(input: VectorInput): Child<'PodDisruptionBudget', WithSpec> | undefined {
  if (input.peers < 2) return undefined
  const { name } = input.cluster.metadata
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(input, vectorNames(name).workload),
    spec: { maxUnavailable: 1, selector: { matchLabels: vectorSelector(name) } },
  }
}
