import { isEngineError, type PeerAddress, type QdrantPort } from '../../adapters/qdrant/port.ts'
import { vectorNames } from '../../contracts/vector.ts'
import { claimName } from '../../contracts/workloads.ts'
import { DAY_MS } from '../../core/clock.ts'
import { PREFIX } from '../../core/labels.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type CollectionView, type DrainAction, nextDrainAction } from '../../desired/vector/index.ts'
import { persistentVolumeClaim, pod } from '../../kube/builtin.ts'
import { refOfPass, wantedReplicas } from '../workload/pass.ts'
import { annotateData } from '../workload/retainedIncarnations.ts'
import type { VectorOptions, VectorPass, VectorStep } from './types.ts'

/** Marks the claim of a drained peer that left the cluster: only such a claim is deleted with its peer. */
export const DRAINED_ANNOTATION = `${PREFIX}drained`

/** Milliseconds between two queries of the engine during a drain; it cannot be watched. */
const POLL_INTERVAL_MS = 10_000
const DRAIN_TIMEOUT_MS = DAY_MS

/**
 * Decides how many peers run now. Claims tell how many exist: a claim without the drained mark belongs to a peer that
 * may hold the only replica of a shard, even if everything is stopped.
 *
 *   peers > wanted ── empty the highest ──> mark its claim ──> one peer less ──> pod gone ──> delete the claim ──┐
 *        ^                                                                                                      │
 *        └──────────────────────────────────────── the next highest ────────────────────────────────────────────┘
 */
export function drainBeforeShrinking({ engine }: Pick<VectorOptions, 'engine'>): VectorStep {
  return async function drainBeforeShrinking(pass: VectorPass): Promise<Outcome> {
    const wanted = wantedReplicas(pass)
    pass.report({ volumes: pass.object.spec.replicas === 0 ? pass.state.claims.size : undefined })
    const ordinals = [...pass.state.claims.keys()].sort((a, b) => a - b)
    const drained = ordinals.filter((ordinal) => isDrained(pass, ordinal))
    const members = (ordinals.at(-1) ?? -1) + 1
    if (drained[0] !== undefined) {
      pass.state.peers = Math.min(wanted === 0 ? 0 : members, drained[0])
      pass.state.draining = await removeClaims(pass, drained)
      return done()
    }
    pass.state.peers = wanted
    if (wanted === 0 || members <= wanted) {
      pass.report({ drainingSince: undefined })
      return done()
    }
    pass.state.peers = members
    pass.state.draining = await drainPeer(pass, engine, members - 1, wanted)
    return done()
  }
}

function isDrained(pass: VectorPass, ordinal: number): boolean {
  return pass.state.claims.get(ordinal)?.metadata.annotations?.[DRAINED_ANNOTATION] !== undefined
}

/** Deletes the claims of drained peers without pods. Their old data would keep a later peer from joining. */
async function removeClaims(pass: VectorPass, drained: readonly number[]): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  const { workload } = vectorNames(name)
  for (const ordinal of drained) {
    if (pass.workloads.cache(pod).get(namespace, `${workload}-${ordinal}`) !== undefined) continue
    await pass.children.remove(persistentVolumeClaim, namespace, claimName(workload, ordinal))
    pass.report({ drainingSince: undefined })
  }
  return waiting('Draining', `Peer ${workload}-${drained[0]} is empty and is being removed.`)
}

async function drainPeer(pass: VectorPass, engine: QdrantPort, ordinal: number, wanted: number): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  const { workload } = vectorNames(name)
  const since = (pass.object.status?.drainingSince as string | undefined) ?? pass.now
  pass.report({ drainingSince: since })
  const progress = await advanceDrain(pass, engine, ordinal, wanted)
  if (progress === 'drained') {
    const claim = pass.state.claims.get(ordinal)
    // Mark before the peer is removed: a claim without pod and mark is a stopped peer, which must not be deleted.
    if (claim !== undefined) await annotateData(pass, persistentVolumeClaim, claim, { [DRAINED_ANNOTATION]: pass.now })
    pass.state.peers = ordinal
    return waiting('Draining', `Peer ${workload}-${ordinal} is empty and is being removed.`)
  }
  const podKey = `${namespace}/${workload}-${ordinal}`
  if (pass.clock.now() - Date.parse(since) > DRAIN_TIMEOUT_MS) {
    return stalled(
      'EngineRefused',
      `Peer ${podKey} could not be emptied within 24 hours: ${progress} Nothing was removed. Set replicas back to ${ordinal + 1} or free space on the other peers.`,
    )
  }
  return waiting('Draining', `Emptying peer ${podKey}: ${progress}`, POLL_INTERVAL_MS)
}

/** Returns `drained`, or a sentence about the progress. */
async function advanceDrain(pass: VectorPass, engine: QdrantPort, ordinal: number, wanted: number): Promise<string> {
  const leaving = peerAddress(pass, ordinal)
  const firstPeer = peerAddress(pass, 0)
  try {
    const action = await observeDrain(engine, { leaving, firstPeer, wanted })
    if (action.kind !== 'removePeer') return await applyAction(engine, firstPeer, action)
    await engine.removePeer(firstPeer, action.peerId)
    // Check again: only an observed state counts.
    return await applyAction(engine, firstPeer, await observeDrain(engine, { leaving, firstPeer, wanted }))
  } catch (error) {
    if (!isEngineError(error)) throw error
    pass.log.debug({ err: error }, 'The engine could not be asked while a peer is emptied.')
    return error.message
  }
}

type DrainTarget = { leaving: PeerAddress; firstPeer: PeerAddress; wanted: number }

async function observeDrain(engine: QdrantPort, { leaving, firstPeer, wanted }: DrainTarget): Promise<DrainAction> {
  const [seenByFirst, seenByLeaving] = [await engine.cluster(firstPeer), await engine.cluster(leaving)]
  const podPrefix = leaving.pod.slice(0, leaving.pod.lastIndexOf('-') + 1)
  const stayingPods = Array.from({ length: wanted }, (_, ordinal) => `${podPrefix}${ordinal}`)
  const staying = seenByFirst.peers.filter(({ uri }) => stayingPods.includes(podOfUri(uri))).map(({ id }) => id)
  const names = new Set([...(await engine.collections(firstPeer)), ...(await engine.collections(leaving))])
  const collections: CollectionView[] = []
  for (const name of [...names].sort()) {
    const known = await engine.collectionShards(firstPeer, name)
    const own = await engine.collectionShards(leaving, name)
    collections.push({
      name,
      copies: known?.copies ?? [],
      transfers: known?.transfers ?? [],
      hasDataOnLeavingPeer: own?.copies.some(({ peerId }) => peerId === seenByLeaving.peerId) ?? false,
    })
  }
  const isMember = seenByFirst.peers.some(({ id }) => id === seenByLeaving.peerId)
  return nextDrainAction({ leaving: { id: seenByLeaving.peerId, isMember }, staying, collections })
}

/** Returns the pod of `http://<pod>.<service>:6335/`, the form in which peers name themselves. */
function podOfUri(uri: string): string {
  return URL.parse(uri)?.hostname.split('.')[0] ?? ''
}

async function applyAction(engine: QdrantPort, firstPeer: PeerAddress, action: DrainAction): Promise<string> {
  switch (action.kind) {
    case 'move':
      await engine.moveShard(firstPeer, action.collection, action)
      return `shard ${action.shard} of collection "${action.collection}" is being moved.`
    case 'drop':
      await engine.dropReplica(firstPeer, action.collection, action)
      return `a copy of shard ${action.shard} of collection "${action.collection}" was given up; other peers have it.`
    case 'wait':
      return `collection "${action.collection}": ${action.why}.`
    case 'removePeer':
      return 'it is empty, and the others still list it.'
    case 'drained':
      return 'drained'
  }
}

/** Returns how to reach a peer, with every key that it may accept. */
export function peerAddress(pass: VectorPass, ordinal: number): PeerAddress {
  const { namespace, name } = refOfPass(pass)
  const names = vectorNames(name)
  const { keys } = pass.state
  const accepted = [keys?.current, keys?.pending, keys?.retired].flatMap((key) => key?.apiKey ?? [])
  const { cluster } = pass.state
  const clusterId = cluster === undefined || cluster.spec.isPlatform ? undefined : cluster.metadata.name
  return { namespace, pod: `${names.workload}-${ordinal}`, service: names.peers, keys: accepted, clusterId }
}
