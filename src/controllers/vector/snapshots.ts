import { isEngineError, type PeerAddress, type QdrantPort } from '../../adapters/qdrant/port.ts'
import { done, type Outcome, REQUEUE_NOW } from '../../core/outcome.ts'
import type { TakenSnapshot } from '../../crds/vectorSnapshots.ts'
import {
  failIfPeerRemoved,
  isUnfinished,
  mergeWantedSnapshots,
  nextSnapshotAction,
  withExistingFiles,
} from '../../desired/vector/snapshots.ts'
import { isRolledOut } from '../stateful/health.ts'
import { peerAddress } from './drain.ts'
import type { VectorOptions, VectorPass, VectorStep } from './types.ts'

/** Delays in milliseconds: while a file is being created, and after the engine did not answer. */
const POLL_INTERVAL_MS = 5_000
const RETRY_INTERVAL_MS = 30_000

type SnapshotProgress = { readonly snapshot: TakenSnapshot | undefined; readonly after: number }

/** Takes and deletes snapshots, file by file, while every peer runs. Each action is recorded in the status first. */
export function keepSnapshots({ engine }: Pick<VectorOptions, 'engine'>): VectorStep {
  return async function keepSnapshots(pass: VectorPass): Promise<Outcome> {
    const { object, state } = pass
    const known = mergeWantedSnapshots(object.status?.snapshots ?? [], object.spec.snapshots)
    const report = (all: readonly TakenSnapshot[]) =>
      pass.report({ snapshots: all.length === 0 ? undefined : [...all] })
    report(known)
    if (state.peers === 0 || state.draining !== undefined || !isRolledOut(state.workload)) return done()
    const peers = Array.from({ length: state.peers }, (_, ordinal) => peerAddress(pass, ordinal))
    const all = known.map((one) =>
      failIfPeerRemoved(
        one,
        peers.map(({ pod }) => pod),
      ),
    )
    const unfinished = all.find(isUnfinished)
    report(all)
    if (unfinished === undefined) return done()
    const { snapshot, after } = await tryNextAction(pass, engine, peers, unfinished)
    report(all.flatMap((one) => (one !== unfinished ? one : (snapshot ?? []))))
    return done({ after })
  }
}

async function tryNextAction(
  pass: VectorPass,
  engine: QdrantPort,
  peers: readonly PeerAddress[],
  snapshot: TakenSnapshot,
): Promise<SnapshotProgress> {
  try {
    return await runNextAction(pass.now, engine, peers, snapshot)
  } catch (error) {
    if (!isEngineError(error)) throw error
    pass.log.debug({ err: error }, 'The engine could not be asked for a snapshot.')
    if (error.reason !== 'Refused' || snapshot.isLeaving === true) return { snapshot, after: RETRY_INTERVAL_MS }
    const { pending, ...rest } = snapshot
    const location = pending === undefined ? '' : ` of collection "${pending.collection}" at peer ${pending.peer}`
    return { snapshot: { ...rest, failure: `The engine refused the snapshot${location}.` }, after: REQUEUE_NOW }
  }
}

async function runNextAction(
  now: string,
  engine: QdrantPort,
  peers: readonly PeerAddress[],
  snapshot: TakenSnapshot,
): Promise<SnapshotProgress> {
  const peerNamed = (peer: string) => peers.find(({ pod }) => pod === peer) as PeerAddress
  const { pending } = snapshot
  const [first] = peers as [PeerAddress]
  const collections = await engine.collections(first)
  const places = peers.flatMap(({ pod }) => collections.map((collection) => ({ peer: pod, collection })))
  const found = pending === undefined ? [] : await engine.snapshots(peerNamed(pending.peer), pending.collection)
  const action = nextSnapshotAction(snapshot, { places, found, now })
  switch (action.kind) {
    case 'wait':
      return { snapshot, after: POLL_INTERVAL_MS }
    case 'keep':
      return { snapshot: action.snapshot, after: REQUEUE_NOW }
    case 'note': {
      const files = await engine.snapshots(peerNamed(action.place.peer), action.place.collection)
      return { snapshot: withExistingFiles(snapshot, action.place, files, now), after: REQUEUE_NOW }
    }
    case 'ask':
      await engine.takeSnapshot(peerNamed(action.place.peer), action.place.collection)
      return {
        snapshot: { ...snapshot, pending: { ...action.place, known: pending?.known ?? [], askedAt: now } },
        after: REQUEUE_NOW,
      }
    case 'delete':
      for (const { peer, collection, file } of snapshot.files)
        await engine.removeSnapshot(peerNamed(peer), collection, file)
      return { snapshot: undefined, after: REQUEUE_NOW }
  }
}
