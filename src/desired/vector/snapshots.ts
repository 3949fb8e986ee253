import type { TakenSnapshot } from '../../crds/vectorSnapshots.ts'

/** Milliseconds after which the creation of one file counts as failed. */
const FILE_TIMEOUT_MS = 3_600_000
/** Maximum files of a snapshot, and of other snapshots next to a pending file: the status lists them all. */
const MAX_FILES = 300

export type SnapshotSource = { readonly peer: string; readonly collection: string }
/** The next action for a snapshot. */
export type SnapshotAction =
  | { readonly kind: 'note'; readonly place: SnapshotSource }
  | { readonly kind: 'ask'; readonly place: SnapshotSource }
  | { readonly kind: 'wait' }
  | { readonly kind: 'keep'; readonly snapshot: TakenSnapshot }
  | { readonly kind: 'delete' }

type WantedSnapshot = { readonly name: string }
/** A file at a peer, with the engine's name for it. */
type FoundFile = { readonly name: string; readonly sizeBytes: number }

/** Adds wanted snapshots and marks unwanted ones for deletion; a mark is final, even if the name is wanted again. */
export function mergeWantedSnapshots(
  recorded: readonly TakenSnapshot[],
  wanted: readonly WantedSnapshot[],
): TakenSnapshot[] {
  const isWanted = ({ name, isLeaving }: TakenSnapshot) => isLeaving !== true && wanted.some((one) => one.name === name)
  const marked = recorded.flatMap((one) => {
    if (isWanted(one)) return one
    // Drop entries without files at once: otherwise names that come and go fill the status of a stopped database.
    return one.files.length === 0 && one.pending === undefined ? [] : { ...one, isLeaving: true }
  })
  const added = wanted.filter(({ name }) => !recorded.some((one) => one.name === name))
  return [...marked, ...added.map(({ name }) => ({ name, files: [] }))]
}

/** Fails a snapshot whose peer was removed together with its files. */
export function failIfPeerRemoved(snapshot: TakenSnapshot, peers: readonly string[]): TakenSnapshot {
  const lost = [...snapshot.files, ...(snapshot.pending ? [snapshot.pending] : [])].find(
    ({ peer }) => !peers.includes(peer),
  )
  if (lost === undefined) return snapshot
  const { pending: _, ...rest } = snapshot
  const files = snapshot.files.filter(({ peer }) => peers.includes(peer))
  return { ...rest, files, failure: snapshot.failure ?? `Peer ${lost.peer} went, and its part with it.` }
}

export function isUnfinished({ isLeaving, completedAt, failure, pending }: TakenSnapshot): boolean {
  return isLeaving === true || pending !== undefined || (completedAt === undefined && failure === undefined)
}

export type SnapshotFacts = {
  readonly places: readonly SnapshotSource[]
  /** Files at the place of the pending file. */
  readonly found: readonly FoundFile[]
  readonly now: string
}

/**
 * Returns the next action for a snapshot. The engine chooses file names, so existing files are recorded before a new
 * one is requested: after a crash the new file is recognized, and requested again only if it does not exist yet.
 */
export function nextSnapshotAction(snapshot: TakenSnapshot, { places, found, now }: SnapshotFacts): SnapshotAction {
  const { pending, files, isLeaving } = snapshot
  if (pending !== undefined) return actionForPending(snapshot, pending, found, now)
  if (isLeaving === true) return { kind: 'delete' }
  const place = places.find(
    (one) => !files.some(({ peer, collection }) => peer === one.peer && collection === one.collection),
  )
  if (place === undefined)
    return { kind: 'keep', snapshot: { ...snapshot, startedAt: snapshot.startedAt ?? now, completedAt: now } }
  if (places.length > MAX_FILES)
    return {
      kind: 'keep',
      snapshot: {
        ...snapshot,
        failure: `It would have ${places.length} files, one for each collection at each peer; at most ${MAX_FILES} are possible.`,
      },
    }
  return { kind: 'note', place }
}

/** Records the existing files before a new one is requested. */
export function withExistingFiles(
  snapshot: TakenSnapshot,
  place: SnapshotSource,
  found: readonly FoundFile[],
  now: string,
): TakenSnapshot {
  const { peer, collection } = place
  const started = { ...snapshot, startedAt: snapshot.startedAt ?? now }
  if (found.length <= MAX_FILES) return { ...started, pending: { ...place, known: found.map(({ name }) => name) } }
  const failure = `Collection "${collection}" has ${found.length} other snapshots at peer ${peer}; at most ${MAX_FILES} are possible.`
  return { ...started, failure }
}

type Pending = NonNullable<TakenSnapshot['pending']>

function actionForPending(
  snapshot: TakenSnapshot,
  pending: Pending,
  found: readonly FoundFile[],
  now: string,
): SnapshotAction {
  const { known, askedAt, peer, collection } = pending
  const { pending: _, ...rest } = snapshot
  const made = found.find(({ name }) => !known.includes(name))
  if (made !== undefined) {
    const file = { peer, collection, file: made.name, sizeBytes: made.sizeBytes }
    return { kind: 'keep', snapshot: { ...rest, files: [...snapshot.files, file] } }
  }
  if (askedAt === undefined) {
    // It was recorded but not requested: drop it.
    return snapshot.isLeaving === true ? { kind: 'keep', snapshot: rest } : { kind: 'ask', place: { peer, collection } }
  }
  if (Date.parse(now) - Date.parse(askedAt) <= FILE_TIMEOUT_MS) return { kind: 'wait' }
  const failure = `The snapshot of collection "${collection}" at peer ${peer} did not end within an hour.`
  return { kind: 'keep', snapshot: { ...rest, failure } }
}
