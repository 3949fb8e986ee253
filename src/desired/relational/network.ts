import {
  ENGINE_CLUSTER_LABEL,
  ENGINE_ROLE_LABEL,
  RELATIONAL_PORT,
  relationalNames,
} from '../../contracts/relational.ts'
import { sourceRanges } from '../../contracts/vector.ts'
import { METRICS_READER_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type Child, child, type RelationalInput } from './types.ts'

/** Where CloudNativePG's own manifests put its controller; it asks the instances for their state. */
export const ENGINE_NAMESPACE = 'cnpg-system'
/** The port on which an instance answers its controller. */
const STATUS_PORT = 8000
/** Where an instance tells its metrics (CloudNativePG, `metrics`). */
const METRICS_PORT = 9187

const ports = [{ name: 'postgresql', port: RELATIONAL_PORT, targetPort: RELATIONAL_PORT, protocol: 'TCP' }]

/** Pods of the Cluster that the Services lead to: its own, or those of the database that took the name over. */
function selectorOf(
  { cluster }: Pick<RelationalInput, 'cluster'>,
  role: 'primary' | 'replica',
): Record<string, string> {
  const served = relationalNames(cluster.spec.connectTo ?? cluster.metadata.name).cluster
  return { [ENGINE_CLUSTER_LABEL]: served, [ENGINE_ROLE_LABEL]: role }
}

export function primaryService(input: RelationalInput): Child<'Service'> {
  const { primary } = relationalNames(input.cluster.metadata.name)
  return child(input, 'v1', 'Service', primary, { type: 'ClusterIP', selector: selectorOf(input, 'primary'), ports })
}

/** For reading; with a single instance there is nobody behind it. */
export function replicaService(input: RelationalInput): Child<'Service'> | undefined {
  if (input.instances < 2) return undefined
  const { replicas } = relationalNames(input.cluster.metadata.name)
  return child(input, 'v1', 'Service', replicas, { type: 'ClusterIP', selector: selectorOf(input, 'replica'), ports })
}

/** A Service of its own, so that switching it on and off never touches the address that clients inside use. */
export function publicService(input: RelationalInput): Child<'Service'> | undefined {
  const { spec, metadata } = input.cluster
  if (!spec.enableLoadBalancer) return undefined
  const ranges = sourceRanges(spec.allowedCidrs)
  return child(input, 'v1', 'Service', relationalNames(metadata.name).publicService, {
    type: 'LoadBalancer',
    // The instance sees the client's own address, which the network policy judges too.
    externalTrafficPolicy: 'Local',
    selector: selectorOf(input, 'primary'),
    ports,
    ...(ranges === undefined ? {} : { loadBalancerSourceRanges: ranges }),
  })
}

const namespaceNamed = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})
const tcp = (port: number) => ({ port, protocol: 'TCP' })

/** Who may reach the instances: the group and the platform, the engine's controller, and the outside where it is on. */
export function networkPolicy(input: RelationalInput): Child<'NetworkPolicy'> {
  const { spec, metadata } = input.cluster
  const { cluster } = relationalNames(metadata.name)
  const outside = spec.enableLoadBalancer ? (sourceRanges(spec.allowedCidrs) ?? ['0.0.0.0/0', '::/0']) : []
  const inside = [{ podSelector: {} }, namespaceNamed(SYSTEM_NAMESPACE)]
  return child(input, 'networking.k8s.io/v1', 'NetworkPolicy', cluster, {
    podSelector: { matchLabels: { [ENGINE_CLUSTER_LABEL]: cluster } },
    policyTypes: ['Ingress'],
    ingress: [
      { from: [...inside, ...outside.map((cidr) => ({ ipBlock: { cidr } }))], ports: [tcp(RELATIONAL_PORT)] },
      { from: [namespaceNamed(ENGINE_NAMESPACE)], ports: [tcp(RELATIONAL_PORT), tcp(STATUS_PORT)] },
      {
        from: [{ namespaceSelector: { matchLabels: { [METRICS_READER_LABEL]: 'true' } } }],
        ports: [tcp(METRICS_PORT)],
      },
    ],
  })
}

const POOLER_MODE = { Session: 'session', Transaction: 'transaction' } as const

/** Connections are shared by a pooler before the primary. None runs while the database is stopped. */
export function pooler(input: RelationalInput): Child<'Pooler'> | undefined {
  const { spec, metadata } = input.cluster
  if (!spec.enablePooler || !spec.running) return undefined
  const names = relationalNames(metadata.name)
  return child(input, 'postgresql.cnpg.io/v1', 'Pooler', names.pooler, {
    cluster: { name: names.cluster },
    instances: input.instances > 1 ? 2 : 1,
    type: 'rw',
    pgbouncer: { poolMode: POOLER_MODE[spec.poolerMode] },
  })
}

/** The database's extensions. One that is no longer wanted is taken out, unless something in the database needs it. */
export function databaseObject(input: RelationalInput): Child<'Database'> | undefined {
  const { spec, metadata } = input.cluster
  const wanted = new Set<string>(spec.extensions)
  const all = [...new Set([...input.installedExtensions, ...wanted])].sort()
  if (all.length === 0) return undefined
  return child(input, 'postgresql.cnpg.io/v1', 'Database', relationalNames(metadata.name).cluster, {
    cluster: { name: relationalNames(metadata.name).cluster },
    name: input.origin?.databaseName ?? spec.databaseName,
    owner: input.origin?.ownerName ?? spec.ownerName,
    ensure: 'present',
    databaseReclaimPolicy: 'retain',
    extensions: all.map((name) => ({ name, ensure: wanted.has(name) ? 'present' : 'absent' })),
  })
}
