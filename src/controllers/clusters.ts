import { Gauge, type Registry } from 'prom-client'
import {
  AGENT_PEER_SECRET,
  type ClusterState,
  clusterStateOf,
  isClusterReachable,
  isConnected,
  msUntilOffline,
  revokedAtOf,
} from '../contracts/clusters.ts'
import { type Clock, timestamp } from '../core/clock.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { degraded, done, earliest, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { AnyKind } from '../crds/define.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { kubectlName } from '../crds/kubectlName.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import {
  type Capability,
  isBalanced,
  type ObservedCluster,
  observedCluster,
  relevantOfNode,
} from '../desired/clusters.ts'
import { node, secret, service, storageClass } from '../kube/builtin.ts'
import { certificate } from '../kube/certmanager.ts'
import { httpRoute } from '../kube/gateway.ts'
import { postgresqlCluster } from '../kube/postgresql.ts'
import { veleroSchedule, volumeSnapshotClass } from '../kube/velero.ts'
import { controller, type Pass, steps, type Workspace } from './engine/controller.ts'
import { abbreviateNames } from './ownedNamespace.ts'

type ClusterPass = Pass<typeof PlatformCluster>
type Placed = KubeObject & { spec: { clusterId?: string } }

/** Returns the record of the cluster that an object is in; without an id, that of the platform's own cluster. */
function recordOf(_: KubeObject, records: Workspace, clusterId?: string): string[] {
  if (clusterId !== undefined) return [clusterId]
  const clusters = records.cache(PlatformCluster).list()
  return clusters.filter(({ spec }) => spec.isPlatform).map(({ metadata }) => metadata.name)
}

/** The type by which a capability is recognized: whether the API server serves it, not its objects. */
const TYPES: Readonly<Record<Exclude<Capability, 'LoadBalancer' | 'SnapshotClasses'>, Resource>> = {
  CertManager: certificate,
  CloudNativePG: postgresqlCluster,
  GatewayApi: httpRoute,
  Velero: veleroSchedule,
}

/** Kinds that refer to a cluster, and so block the deletion of its record. */
const HOLDERS = [BoundaryProjection, ...RESOURCE_KINDS.filter(({ runsAnywhere }) => runsAnywhere === true)]

const leavingCluster = (object: KubeObject, records: Workspace): string[] => {
  const { clusterId } = (object as Placed).spec
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId ?? '')
  return cluster?.metadata.deletionTimestamp === undefined ? [] : [cluster.metadata.name]
}

/**
 * Reports the state and capacity of each cluster. The replica that holds an agent's tunnel records its start and end; a
 * tunnel that carries nothing is detected here. A timer notices 90 seconds without a tunnel.
 */
export const clusterController = controller(PlatformCluster, {
  observes: [
    { resource: node, in: 'workloads', keysOf: recordOf, relevant: relevantOfNode },
    { resource: storageClass, in: 'workloads', keysOf: recordOf },
    { resource: volumeSnapshotClass, in: 'workloads', keysOf: recordOf },
    { resource: service, in: 'workloads', keysOf: recordOf, relevant: isBalanced },
    ...Object.values(TYPES).map((resource) => ({ resource, in: 'workloads' as const, keysOf: () => [] })),
    ...HOLDERS.map(({ resource }) => ({ resource, keysOf: leavingCluster })),
  ],
  watchesOtherClusters: true,
  childrenIn: 'records',
  writes: [
    // Authenticates requests that are forwarded to the replica with the tunnel.
    { resource: secret, verbs: ['get'], resourceNames: [AGENT_PEER_SECRET], in: 'system' },
  ],
  reconcile: steps(reportState),
  // The platform's own record cannot be deleted while the platform is installed, and must not outlive it.
  needsFinalizer: ({ spec }) => !spec.isPlatform,
  finalize: steps(blockWhileReferenced),
})

export function reportState(pass: ClusterPass): Outcome {
  const now = pass.clock.now()
  const { metadata, spec, status } = pass.object
  const workspace = spec.isPlatform ? pass.workloads : pass.others.find(metadata.name)
  const seen = workspace && observeCluster(workspace)
  const agent = agentOf(pass)
  const facts = { spec, status: { ...status, ...seen, agent } }
  const state = clusterStateOf(facts, now)
  const revokedAt = revokedAtOf(pass.object)
  const untilRevoked = Date.parse(revokedAt ?? '') - now
  pass.report({
    ...{ state, ...seen },
    ...(agent !== undefined && { agent }),
    // A revocation in the future may be a mistake: do not report it as final yet.
    ...(untilRevoked <= 0 && { revokedUntil: revokedAt }),
  })
  pass.serving(isClusterReachable(state))
  const after = earliest(msUntilOffline(facts, state, now), untilRevoked > 0 ? untilRevoked : undefined)
  return isClusterReachable(state)
    ? (refusalOf(pass, after) ?? outcomeOf(state, pass, after))
    : outcomeOf(state, pass, after)
}

/** More would not help, because they share one cause. */
const MAX_SHOWN_REFUSALS = 3

function refusalOf({ object: { metadata }, others }: ClusterPass, after?: number): Outcome | undefined {
  const refused = others.refused(metadata.name)
  if (refused.length === 0) return undefined
  const shown = [
    ...refused.slice(0, MAX_SHOWN_REFUSALS),
    ...(refused.length > MAX_SHOWN_REFUSALS ? ['There is more.'] : []),
  ]
  const message = `Work in the cluster waits or is late, because the platform cannot watch what it must there. ${shown.join(' ')} Where it is not permitted, apply the agent's manifest there again.`
  return degraded('PartiallyAvailable', message, after)
}

/** Returns the recorded agent, marked as lost if its connection carries nothing. */
function agentOf({ object: { metadata, status }, others }: ClusterPass) {
  const lost = others.lost(metadata.name)
  const agent = status?.agent
  if (lost === undefined || !isConnected(agent) || lost.connection !== agent?.connection) return agent
  return { ...agent, lostConnection: lost.connection, lastSeenAt: timestamp(lost.since) }
}

function observeCluster(workspace: Workspace): ObservedCluster {
  const has = (capability: Capability) => {
    if (capability === 'LoadBalancer') return workspace.cache(service).list().some(isBalanced)
    if (capability === 'SnapshotClasses') return workspace.cache(volumeSnapshotClass).list().length > 0
    return workspace.isServed(TYPES[capability])
  }
  return observedCluster(workspace.cache(node).list(), workspace.cache(storageClass).list(), has)
}

function outcomeOf(state: ClusterState, { object }: ClusterPass, after?: number): Outcome {
  const { lastSeenAt = 'never', certificateExpiresAt, clockSkewMilliseconds } = object.status?.agent ?? {}
  switch (state) {
    case 'AwaitingJoin':
      return waiting('WaitingForCluster', 'No agent has joined yet. Ask for a join token and start the agent with it.')
    case 'Joining':
      return waiting('WaitingForCluster', 'The agent has joined and is connecting.', after)
    case 'Offline':
      return stalled(
        'ClusterUnreachable',
        `The agent does not answer; what runs there keeps running. Last seen: ${lastSeenAt}.${returnOf(certificateExpiresAt)}`,
      )
    case 'Revoked':
      return stalled(
        'ClusterRevoked',
        `The agent was revoked at ${revokedAtOf(object)}. Let it join again to resume.`,
        after,
      )
    case 'Degraded':
      return degraded('PartiallyAvailable', 'Not all nodes of the cluster are ready.', after)
    case 'Online':
      return done({ after, ...clockWarning(clockSkewMilliseconds) })
  }
}

/** Times that the cluster reports are compared with ours, such as when a rollout failed. */
const CLOCK_SKEW_MAX_MS = 60_000

function clockWarning(skew = 0): { message?: string } {
  if (Math.abs(skew) < CLOCK_SKEW_MAX_MS) return {}
  const minutes = Math.round(Math.abs(skew) / 60_000)
  const direction = skew > 0 ? 'ahead of' : 'behind'
  return {
    message: `When its agent connected, the clock of the cluster was ${minutes} minutes ${direction} ours: what runs there may report wrong times and failures. Correct it, and restart the agent.`,
  }
}

/** The agent may have renewed the certificate since, so this is the earliest end. */
const returnOf = (certificateExpiresAt: string | undefined) =>
  certificateExpiresAt === undefined
    ? ''
    : ` Its certificate is valid until ${certificateExpiresAt} or longer; later it must join again.`

/** Blocks the deletion of a record in use: otherwise nothing would know of what runs in the cluster. */
export async function blockWhileReferenced({ object, records }: ClusterPass): Promise<Outcome> {
  const namesOf = (kind: AnyKind, objects: readonly Placed[]) =>
    objects
      .filter(({ spec }) => spec.clusterId === object.metadata.name)
      .map(({ metadata }) => `${metadata.namespace}/${kubectlName(kind, metadata.name)}`)
  const names = HOLDERS.flatMap((kind) => namesOf(kind, records.cache<Placed>(kind.resource).list()))
  // The caches may lack the newest objects.
  for (const kind of names.length === 0 ? HOLDERS : [])
    names.push(...namesOf(kind, (await records.client.list<Placed>(kind.resource)).items))
  if (names.length === 0) return done()
  return waiting(
    'DeletionBlocked',
    `The deletion waits, because the cluster is used by ${abbreviateNames(names)}. Delete that first.`,
  )
}

/** Counts clusters by state at scrape time: an agent's silence changes the state without an event. */
export function countClusters(registry: Registry, records: Workspace, clock: Pick<Clock, 'now'>): void {
  new Gauge({
    name: 'freehold_clusters',
    help: 'Clusters by state, such as Online or Offline',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const cluster of records.cache(PlatformCluster).list())
        this.inc({ state: clusterStateOf(cluster, clock.now()) })
    },
  })
}
