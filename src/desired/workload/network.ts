import type { Network } from '../../contracts/networks.ts'
import { METRICS_READER_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type Child, child, type WorkloadInput } from './child.ts'

export type ServicePort = { name: string; port: number; targetPort: string | number; protocol: 'TCP' | 'UDP' }

/** @param targetPort the port of the container, by its name or number */
export function servicePort(
  name: string,
  port: number,
  targetPort: string | number = name,
  protocol: ServicePort['protocol'] = 'TCP',
): ServicePort {
  return { name, port, targetPort, protocol }
}

/** A Service over the pods of the workload, unless `spec` selects others. */
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
 * The Service of type LoadBalancer; undefined if nobody may connect from outside. It is one of its own, so that
 * switching it on and off never touches the address that clients inside the cluster use.
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
    // Pods see the client's own address, which the network policy judges too.
    externalTrafficPolicy: 'Local',
    ...spec,
    ...(ranges === undefined ? {} : { loadBalancerSourceRanges: ranges }),
  })
}

export const namespaceNamed = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

type Rule = { from: readonly object[]; ports: readonly object[] }

const tcp = (port: number) => ({ port, protocol: 'TCP' })

export function allow(from: readonly object[], ports: readonly number[]): Rule {
  return { from, ports: ports.map(tcp) }
}

/** A rule for what pods begin. */
export function allowTo({ cidr, except = [], ports }: Network): object {
  return {
    to: [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }],
    ...(ports !== undefined && { ports: ports.map(tcp) }),
  }
}

/** Whoever collects metrics in this cluster, by the label of its namespace. */
export function allowMetrics(port: number): Rule {
  return allow([{ namespaceSelector: { matchLabels: { [METRICS_READER_LABEL]: 'true' } } }], [port])
}

/**
 * Who may connect to the pods: on the client ports the group, the platform and whoever may from outside; besides them
 * what `rules` allow. A workload without client ports hears from nobody.
 */
export function networkPolicy(
  input: WorkloadInput,
  name: string,
  options: {
    clientPorts?: readonly number[]
    /** Who else may use the client ports: peers of a rule. */
    clients?: readonly object[]
    rules?: readonly Rule[]
    /** What its pods reach, beyond what those of the group do. */
    networks?: readonly Network[]
    /** Other pods than those of `selector`. */
    selector?: Readonly<Record<string, string>>
  },
): Child<'NetworkPolicy'> {
  const { clientPorts = [], clients = [], rules = [], networks = [], selector = input.selector } = options
  const outside = input.isPublic ? (input.ranges ?? ['0.0.0.0/0', '::/0']) : []
  const from = [
    { podSelector: {} },
    namespaceNamed(SYSTEM_NAMESPACE),
    ...clients,
    ...outside.map((cidr) => ({ ipBlock: { cidr } })),
  ]
  return child(
    input,
    { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name },
    {
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress', ...(networks.length === 0 ? [] : ['Egress'])],
        ingress: [...(clientPorts.length === 0 ? [] : [allow(from, clientPorts)]), ...rules],
        ...(networks.length > 0 && { egress: networks.map(allowTo) }),
      },
    },
  )
}

/** One pod at a time. A single pod has none: a budget of zero would block every node drain for ever. */
export function podDisruptionBudget(
  input: WorkloadInput,
  name: string,
  replicas: number,
): Child<'PodDisruptionBudget'> | undefined {
  if (replicas < 2) return undefined
  const spec = {
    maxUnavailable: 1,
    // A pod that does not serve anyway must not keep its node from being drained.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: input.selector },
  }
  return child(input, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', name }, { spec })
}
