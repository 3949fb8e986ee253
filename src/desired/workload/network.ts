import type { Network } from '../../contracts/networks.ts'
import { METRICS_READER_LABEL } from '../../core/labels.ts'
import { metadataNetworks } from '../../core/metadataServices.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type Child, child, type WorkloadInput } from './child.ts'

export type ServicePort = { name: string; port: number; targetPort: string | number; protocol: 'TCP' | 'UDP' }

/** @param targetPort name or number of the container's port */
export function servicePort(
  name: string,
  port: number,
  targetPort: string | number = name,
  protocol: ServicePort['protocol'] = 'TCP',
): ServicePort {
  return { name, port, targetPort, protocol }
}

/** A Service that selects the pods of the workload, unless `spec` overrides the selector. */
export function service(
  input: WorkloadInput,
  name: string,
  spec: { ports: readonly ServicePort[] } & Record<string, unknown>,
  labels?: Record<string, string>,
): Child<'Service'> {
  const identity = { apiVersion: 'v1', kind: 'Service', name, ...(labels && { labels }) } as const
  return child(input, identity, { spec: { selector: input.selector, ...spec } })
}

/**
 * The Service of type LoadBalancer; undefined if clients outside must not connect. It is separate, so that enabling or
 * disabling it never changes the address that clients inside the cluster use.
 */
export function publicService(
  input: WorkloadInput,
  name: string,
  spec: { ports: readonly ServicePort[]; selector?: Record<string, string> },
): Child<'Service'> | undefined {
  const { isPublic, ranges } = input
  if (!isPublic) return undefined
  return service(input, name, {
    type: 'LoadBalancer',
    // Preserves the client's address, which the network policy checks.
    externalTrafficPolicy: 'Local',
    ...spec,
    ...(ranges === undefined ? {} : { loadBalancerSourceRanges: ranges }),
  })
}

export const namespacePeer = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

export const DNS_PORTS = ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 }))

/** An egress rule. The address is that of NodeLocal DNSCache. */
export const ALLOW_DNS = {
  to: [namespacePeer('kube-system'), { ipBlock: { cidr: '169.254.20.10/32' } }],
  ports: DNS_PORTS,
}

/** Every address but those at which clouds serve the credentials of nodes, most of them link-local, and closed networks. */
export function outsidePeers(closed: readonly string[] = []): object[] {
  const closedIn = (isIpv6: boolean) => closed.filter((cidr) => cidr.includes(':') === isIpv6)
  return [
    { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', ...metadataNetworks(4), ...closedIn(false)] } },
    { ipBlock: { cidr: '::/0', except: ['fe80::/10', ...metadataNetworks(6), ...closedIn(true)] } },
  ]
}

type Rule = { from: readonly object[]; ports: readonly object[] }

const tcp = (port: number) => ({ port, protocol: 'TCP' })

export function allowIngress(from: readonly object[], ports: readonly number[]): Rule {
  return { from, ports: ports.map(tcp) }
}

/** An egress rule. */
export function allowEgress({ cidr, except = [], ports }: Network): object {
  return {
    to: [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }],
    ...(ports !== undefined && { ports: ports.map(tcp) }),
  }
}

/** Allows metrics collectors of this cluster, by the label of their namespace. */
export function allowMetrics(port: number): Rule {
  return allowIngress([{ namespaceSelector: { matchLabels: { [METRICS_READER_LABEL]: 'true' } } }], [port])
}

/**
 * Restricts ingress to the pods: client ports accept the group, the platform and allowed outside clients; `rules` add
 * more. Without client ports and rules, nothing is accepted.
 */
export function networkPolicy(
  input: WorkloadInput,
  name: string,
  options: {
    clientPorts?: readonly number[]
    /** Additional peers that may use the client ports. */
    clients?: readonly object[]
    rules?: readonly Rule[]
    /** Networks that the pods reach in addition to those of the group. */
    networks?: readonly Network[]
    /** Overrides the selected pods. */
    selector?: Readonly<Record<string, string>>
  },
): Child<'NetworkPolicy'> {
  const { clientPorts = [], clients = [], rules = [], networks = [], selector = input.selector } = options
  const clientsOutside = input.isPublic ? (input.ranges ?? ['0.0.0.0/0', '::/0']) : []
  const from = [
    { podSelector: {} },
    namespacePeer(SYSTEM_NAMESPACE),
    ...clients,
    ...clientsOutside.map((cidr) => ({ ipBlock: { cidr } })),
  ]
  return child(
    input,
    { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name },
    {
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress', ...(networks.length === 0 ? [] : ['Egress'])],
        ingress: [...(clientPorts.length === 0 ? [] : [allowIngress(from, clientPorts)]), ...rules],
        ...(networks.length > 0 && { egress: networks.map(allowEgress) }),
      },
    },
  )
}

/** Allows one disruption at a time. None for a single pod: it would block every node drain. */
export function podDisruptionBudget(
  input: WorkloadInput,
  name: string,
  replicas: number,
): Child<'PodDisruptionBudget'> | undefined {
  if (replicas < 2) return undefined
  const spec = {
    maxUnavailable: 1,
    // A pod that is not ready must not block a node drain.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: input.selector },
  }
  return child(input, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', name }, { spec })
}
