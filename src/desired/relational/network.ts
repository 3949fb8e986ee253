import {
  ENGINE_CLUSTER_LABEL,
  ENGINE_ROLE_LABEL,
  RELATIONAL_PORT,
  relationalNames,
} from '../../contracts/relational.ts'
import { type Child, child } from '../workload/child.ts'
import {
  allowIngress,
  allowMetrics,
  namespacePeer,
  networkPolicy,
  publicService,
  service,
  servicePort,
} from '../workload/network.ts'
import { ENGINE_API, type RelationalInput } from './types.ts'

/** Namespace of CloudNativePG's controller in its own manifests. The controller queries the instances' status. */
export const ENGINE_NAMESPACE = 'cnpg-system'
/** Port on which instances answer the controller. */
const STATUS_PORT = 8000
/** Port of an instance's metrics (CloudNativePG, `metrics`). */
const METRICS_PORT = 9187

const ports = [servicePort('postgresql', RELATIONAL_PORT, RELATIONAL_PORT)]

/** Selects the pods behind a Service: of the own Cluster, or of the database that took over the name. */
function selectorOf({ cluster }: RelationalInput, role: 'primary' | 'replica'): Record<string, string> {
  const served = relationalNames(cluster.spec.connectTo ?? cluster.metadata.name).cluster
  return { [ENGINE_CLUSTER_LABEL]: served, [ENGINE_ROLE_LABEL]: role }
}

export function primaryService(input: RelationalInput): Child<'Service'> {
  return service(input, input.names.primary, { type: 'ClusterIP', selector: selectorOf(input, 'primary'), ports })
}

/** The Service for reads; a single instance has no replica to serve it. */
export function replicaService(input: RelationalInput): Child<'Service'> | undefined {
  if (input.instances < 2) return undefined
  return service(input, input.names.replicas, { type: 'ClusterIP', selector: selectorOf(input, 'replica'), ports })
}

export function loadBalancer(input: RelationalInput): Child<'Service'> | undefined {
  return publicService(input, input.names.publicService, { selector: selectorOf(input, 'primary'), ports })
}

/**
 * Allows clients, and the engine's controller. Every instance asks the API server for its role, so egress to it is
 * allowed where it is closed to the pods of groups.
 */
export function policy(input: RelationalInput): Child<'NetworkPolicy'> {
  const { cluster } = input.names
  return networkPolicy(input, cluster, {
    selector: { [ENGINE_CLUSTER_LABEL]: cluster },
    clientPorts: [RELATIONAL_PORT],
    rules: [
      allowIngress([namespacePeer(ENGINE_NAMESPACE)], [RELATIONAL_PORT, STATUS_PORT]),
      allowMetrics(METRICS_PORT),
    ],
    networks: input.apiServer,
  })
}

const POOLER_MODE = { Session: 'session', Transaction: 'transaction' } as const

/** The connection pooler in front of the primary; none while the database is stopped. */
export function pooler(input: RelationalInput): Child<'Pooler'> | undefined {
  const { cluster, names, instances } = input
  const { enablePooler, running, poolerMode } = cluster.spec
  if (!enablePooler || !running) return undefined
  const spec = {
    cluster: { name: names.cluster },
    instances: instances > 1 ? 2 : 1,
    type: 'rw',
    pgbouncer: { poolMode: POOLER_MODE[poolerMode] },
  }
  return child(input, { apiVersion: ENGINE_API, kind: 'Pooler', name: names.pooler }, { spec })
}

/** The database's extensions. Extensions no longer wanted are dropped, unless something in the database needs them. */
export function databaseObject(input: RelationalInput): Child<'Database'> | undefined {
  const { cluster, names, origin, installedExtensions } = input
  const wanted = new Set<string>(cluster.spec.extensions)
  const all = [...new Set([...installedExtensions, ...wanted])].sort()
  if (all.length === 0) return undefined
  const spec = {
    cluster: { name: names.cluster },
    name: origin?.databaseName ?? cluster.spec.databaseName,
    owner: origin?.ownerName ?? cluster.spec.ownerName,
    ensure: 'present',
    databaseReclaimPolicy: 'retain',
    extensions: all.map((name) => ({ name, ensure: wanted.has(name) ? 'present' : 'absent' })),
  }
  return child(input, { apiVersion: ENGINE_API, kind: 'Database', name: names.cluster }, { spec })
}
