import { SQL_PORTS, sqlNames, sqlSelector } from '../../contracts/sql.ts'
import { sourceRanges } from '../../contracts/vector.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type Child, metadataOf, type SqlInput } from './types.ts'

const portOf = ({ instance }: SqlInput) => SQL_PORTS[instance.spec.engine]

function service(input: SqlInput, name: string, spec: object): Child<'Service'> {
  const ports = [{ name: 'sql', port: portOf(input), targetPort: 'sql', protocol: 'TCP' }]
  const selector = sqlSelector(input.instance.metadata.name)
  return { apiVersion: 'v1', kind: 'Service', metadata: metadataOf(input, name), spec: { selector, ports, ...spec } }
}

export function clientService(input: SqlInput): Child<'Service'> {
  return service(input, sqlNames(input.instance.metadata.name).workload, { type: 'ClusterIP' })
}

/** The StatefulSet wants one, for the name of its pod. */
export function peerService(input: SqlInput): Child<'Service'> {
  return service(input, sqlNames(input.instance.metadata.name).peers, { clusterIP: 'None' })
}

/** A Service of its own, so that switching it on and off never touches the address that clients inside use. */
export function publicService(input: SqlInput): Child<'Service'> | undefined {
  const { spec, metadata } = input.instance
  if (!spec.enableLoadBalancer) return undefined
  const ranges = sourceRanges(spec.allowedCidrs)
  return service(input, sqlNames(metadata.name).publicService, {
    type: 'LoadBalancer',
    // The engine sees the client's own address, which the network policy judges too.
    externalTrafficPolicy: 'Local',
    ...(ranges === undefined ? {} : { loadBalancerSourceRanges: ranges }),
  })
}

/** Who may reach the engine: the group, the platform, and the outside where it was switched on. */
export function networkPolicy(input: SqlInput): Child<'NetworkPolicy'> {
  const { spec, metadata } = input.instance
  const outside = spec.enableLoadBalancer ? (sourceRanges(spec.allowedCidrs) ?? ['0.0.0.0/0', '::/0']) : []
  const from = [
    { podSelector: {} },
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM_NAMESPACE } } },
    ...outside.map((cidr) => ({ ipBlock: { cidr } })),
  ]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(input, sqlNames(metadata.name).workload),
    spec: {
      podSelector: { matchLabels: sqlSelector(metadata.name) },
      policyTypes: ['Ingress'],
      ingress: [{ from, ports: [{ port: portOf(input), protocol: 'TCP' }] }],
    },
  }
}
