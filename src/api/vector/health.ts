import { z } from 'zod'
import { type CollectionShards, isEngineError, type PeerAddress, type QdrantPort } from '../../adapters/qdrant/port.ts'
import { decodeVectorKeys, vectorNames } from '../../contracts/vector.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { describeReadyCount, pluralize } from '../../core/pluralize.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { type HealthCheckDto, healthReportFields } from '../resources/dto.ts'
import { otherClusterOf } from '../resources/find.ts'
import type { VectorObject } from './record.ts'

type State = HealthCheckDto['status']

const PeerHealth = namedRecord('VectorPeerHealth', {
  peerId: z.int(),
  uri: z.string(),
  state: z.enum(['Active', 'Dead', 'Unknown']),
  isLeader: z.boolean(),
})
type PeerHealth = z.output<typeof PeerHealth>

export const VectorHealth = namedRecord('VectorHealthReport', {
  ...healthReportFields,
  peers: z.array(PeerHealth),
  collectionCount: z.int().nullable(),
  vectorCount: z.int().nullable(),
})
type VectorHealth = z.output<typeof VectorHealth>

/** Bounds the report when the engine hangs. */
const HEALTH_TIMEOUT_MS = 4_000
/** The most collections that are examined. With more, the vector count is unknown. */
const COLLECTIONS_MAX = 50

type CheckResult = { state: State; message: string | null }

/** Checks the pods in the status, then queries the engine. Never throws if the engine is unhealthy. */
export async function vectorHealth(
  object: VectorObject,
  services: Services,
  client: AbortSignal,
): Promise<VectorHealth> {
  const { clock, vector } = services
  const checkedAt = timestamp(clock.now())
  const check = (name: string, { state, message }: CheckResult, began?: number): HealthCheckDto => ({
    name,
    status: state,
    message,
    durationMs: began === undefined ? null : Math.round(clock.monotonic() - began),
    observedAt: checkedAt,
  })
  const pods = podsCheck(object)
  const unknown = (message: string | null): VectorHealth => ({
    ...{ status: 'Unknown', checkedAt, message, checks: [check('Pods', pods)] },
    ...{ peers: [], collectionCount: null, vectorCount: null },
  })
  if (pods.state === 'Unknown') return unknown(pods.message)
  const signal = AbortSignal.any([client, AbortSignal.timeout(HEALTH_TIMEOUT_MS)])
  const peer = await peerOf(object, services).catch((error: unknown) => {
    if (error instanceof PlatformError) return undefined
    throw error
  })
  if (peer === undefined) return unknown('The keys of the engine cannot be read from its cluster at the moment.')
  const began = clock.monotonic()
  const [readiness, consensus, collections] = await Promise.all([
    askReadiness(vector.engine, peer, signal),
    askConsensus(vector.engine, peer, signal),
    askCollections(vector.engine, peer, signal),
  ])
  const checks = [
    check('Pods', pods),
    check('Readiness', readiness, began),
    check('Consensus', consensus, began),
    check('Collections', collections, began),
    check('Disk', { state: 'Unknown', message: 'The engine does not report how full its volumes are.' }),
  ]
  const dead = collections.deadPeers
  return {
    ...overallStatus(checks),
    checkedAt,
    checks,
    peers: consensus.peers.map((member) => (dead.has(member.peerId) ? { ...member, state: 'Dead' as const } : member)),
    collectionCount: collections.count,
    vectorCount: collections.points,
  }
}

function podsCheck({ spec, status }: VectorObject): CheckResult {
  const wanted = spec.running ? (spec.replicas ?? 1) : 0
  const ready = status?.readyReplicas ?? 0
  if (wanted === 0) return { state: 'Unknown', message: 'It is stopped, so its health is unknown.' }
  if (ready >= wanted) return { state: 'Healthy', message: null }
  return { state: ready === 0 ? 'Unhealthy' : 'Degraded', message: `${describeReadyCount(ready, wanted, 'peer')}.` }
}

async function peerOf(object: VectorObject, services: Services): Promise<PeerAddress> {
  const { name, namespace = '' } = object.metadata
  const names = vectorNames(name)
  const clusterId = otherClusterOf(services, object.spec.clusterId)
  const { secrets } = services.vector
  const data = object.spec.apiKeyEnabled ? await secrets.read(namespace, names.keys, clusterId) : undefined
  const stored = decodeVectorKeys(data)
  const keys = [stored?.current, stored?.pending, stored?.retired].flatMap((key) =>
    key === undefined ? [] : [key.apiKey],
  )
  return { namespace, pod: `${names.workload}-0`, service: names.peers, keys, clusterId }
}

/** Errors of the engine, or of the connection to another cluster that it runs on. */
const isNoAnswer = (error: unknown) =>
  isEngineError(error) || error instanceof PlatformError || (error instanceof Error && error.name === 'TimeoutError')

function unreachable(error: unknown): CheckResult {
  if (!isNoAnswer(error)) throw error
  if (isEngineError(error, 'Unauthorized'))
    return { state: 'Degraded', message: 'The engine does not accept the stored key.' }
  return { state: 'Unknown', message: 'The engine did not answer.' }
}

async function askReadiness(engine: QdrantPort, peer: PeerAddress, signal: AbortSignal): Promise<CheckResult> {
  try {
    const isReady = await engine.ready(peer, { signal })
    return isReady
      ? { state: 'Healthy', message: null }
      : { state: 'Unknown', message: 'The first peer did not report that it is ready.' }
  } catch (error) {
    return unreachable(error)
  }
}

async function askConsensus(
  engine: QdrantPort,
  peer: PeerAddress,
  signal: AbortSignal,
): Promise<CheckResult & { peers: PeerHealth[] }> {
  try {
    const view = await engine.cluster(peer, { signal })
    const peers = view.peers.map(({ id, uri }) => ({
      peerId: id,
      uri,
      state: id === view.peerId ? ('Active' as const) : ('Unknown' as const),
      isLeader: id === view.leader,
    }))
    if (!view.consensusWorking) return { state: 'Unhealthy', message: 'The peers do not agree with each other.', peers }
    const lacksLeader = view.leader === undefined && view.peers.length > 1
    return {
      state: lacksLeader ? 'Degraded' : 'Healthy',
      message: lacksLeader ? 'The peers have no leader.' : null,
      peers,
    }
  } catch (error) {
    return { ...unreachable(error), peers: [] }
  }
}

type Collections = CheckResult & { count: number | null; points: number | null; deadPeers: Set<number> }

async function askCollections(engine: QdrantPort, peer: PeerAddress, signal: AbortSignal): Promise<Collections> {
  try {
    const names = await engine.collections(peer, { signal })
    const inspected = names.slice(0, COLLECTIONS_MAX)
    const deadPeers = new Set<number>()
    let points = 0
    for (const name of inspected) {
      const [shards, count] = await Promise.all([
        engine.collectionShards(peer, name, { signal }),
        engine.points(peer, name, { signal }),
      ])
      points += count
      for (const id of deadShardPeers(shards)) deadPeers.add(id)
    }
    const message = deadPeers.size > 0 ? `Copies of shards are dead on ${pluralize(deadPeers.size, 'peer')}.` : null
    const isComplete = inspected.length === names.length
    return {
      state: deadPeers.size > 0 ? 'Degraded' : 'Healthy',
      message,
      count: names.length,
      points: isComplete ? points : null,
      deadPeers,
    }
  } catch (error) {
    return { ...unreachable(error), count: null, points: null, deadPeers: new Set() }
  }
}

function deadShardPeers(shards: CollectionShards | undefined): number[] {
  return (shards?.copies ?? []).flatMap(({ state, peerId }) => (state === 'Dead' ? [peerId] : []))
}

/** Returns the worst known state; Unknown if none is bad but a check got no answer. */
function overallStatus(checks: readonly HealthCheckDto[]): { status: State; message: string | null } {
  const worst = (['Unhealthy', 'Degraded'] as const).find((state) => checks.some(({ status }) => status === state))
  const unanswered = checks.filter(({ name, status }) => name !== 'Disk' && status === 'Unknown')
  const status: State = worst ?? (unanswered.length > 0 ? 'Unknown' : 'Healthy')
  const described = checks.find((check) => check.status === status && check.message !== null && check.name !== 'Disk')
  return { status, message: status === 'Healthy' ? null : (described?.message ?? null) }
}
