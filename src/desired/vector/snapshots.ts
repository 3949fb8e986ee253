import type { TakenSnapshot } from '../../crds/vectorSnapshots.ts'

/** Milliseconds that the engine has for one file. */
const FILE_TAKES_MOST = 3_600_000
/** Of a snapshot, and of others beside one of its files: all of them stand in the status. */
const FILES_MAX = 300

export type Place = { readonly peer: string; readonly collection: string }
/** What is to be done next of a snapshot. */
export type SnapshotAction =
  | { readonly kind: 'note'; readonly place: Place }
  | { readonly kind: 'ask'; readonly place: Place }
  | { readonly kind: 'wait' }
  | { readonly kind: 'keep'; readonly snapshot: TakenSnapshot }
  | { readonly kind: 'delete' }

type Wanted = { readonly name: string }
/** A file at a peer, as the engine names it. */
type Found = { readonly name: string; readonly sizeBytes: number }

/** Those that are taken, with new ones, and with a mark on what nobody wants any more: that is gone for good, whatever is asked for later. */
export function withWanted(taken: readonly TakenSnapshot[], wanted: readonly Wanted[]): TakenSnapshot[] {
  const isWanted = ({ name, isLeaving }: TakenSnapshot) => isLeaving !== true && wanted.some((one) => one.name === name)
  const marked = taken.flatMap((one) => {
    if (isWanted(one)) return one
    // Without a file there is nothing to wait for: names that come and go would fill the status of one that is stopped.
    return one.files.length === 0 && one.pending === undefined ? [] : { ...one, isLeaving: true }
  })
  const added = wanted.filter(({ name }) => !taken.some((one) => one.name === name))
  return [...marked, ...added.map(({ name }) => ({ name, files: [] }))]
}

/** A peer that went took its part along. */
export function withoutPeers(snapshot: TakenSnapshot, peers: readonly string[]): TakenSnapshot {
  const gone = [...snapshot.files, ...(snapshot.pending ? [snapshot.pending] : [])].find(
    ({ peer }) => !peers.includes(peer),
  )
  if (gone === undefined) return snapshot
  const { pending: _, ...rest } = snapshot
  const files = snapshot.files.filter(({ peer }) => peers.includes(peer))
  return { ...rest, files, failure: snapshot.failure ?? `Peer ${gone.peer} went, and its part with it.` }
}

export function isUnfinished({ isLeaving, completedAt, failure, pending }: TakenSnapshot): boolean {
  return isLeaving === true || pending !== undefined || (completedAt === undefined && failure === undefined)
}

export type SnapshotFacts = {
  readonly places: readonly Place[]
  /** At the place of the file that is being made. */
  readonly found: readonly Found[]
  readonly now: string
}

/**
 * One step of a snapshot. The engine chooses the names of files, so what is there already is noted before one is asked for:
 * whoever comes after a crash knows the new one by that, and asks for a second only if it is not complete yet.
 */
export function nextOfSnapshot(snapshot: TakenSnapshot, { places, found, now }: SnapshotFacts): SnapshotAction {
  const { pending, files, isLeaving } = snapshot
  if (pending !== undefined) return ofPending(snapshot, pending, found, now)
  if (isLeaving === true) return { kind: 'delete' }
  const place = places.find(
    (one) => !files.some(({ peer, collection }) => peer === one.peer && collection === one.collection),
  )
  if (place === undefined)
    return { kind: 'keep', snapshot: { ...snapshot, startedAt: snapshot.startedAt ?? now, completedAt: now } }
  if (places.length > FILES_MAX)
    return {
      kind: 'keep',
      snapshot: {
        ...snapshot,
        failure: `It would have ${places.length} files, one for each collection at each peer; at most ${FILES_MAX} are possible.`,
      },
    }
  return { kind: 'note', place }
}

/** With what is at a place before a file is asked for there. */
export function withNoted(snapshot: TakenSnapshot, place: Place, found: readonly Found[], now: string): TakenSnapshot {
  const { peer, collection } = place
  const started = { ...snapshot, startedAt: snapshot.startedAt ?? now }
  if (found.length <= FILES_MAX) return { ...started, pending: { ...place, known: found.map(({ name }) => name) } }
  const failure = `Collection "${collection}" has ${found.length} other snapshots at peer ${peer}; at most ${FILES_MAX} are possible.`
  return { ...started, failure }
}

type Pending = NonNullable<TakenSnapshot['pending']>

function ofPending(snapshot: TakenSnapshot, pending: Pending, found: readonly Found[], now: string): SnapshotAction {
  const { known, askedAt, peer, collection } = pending
  const { pending: _, ...rest } = snapshot
  const made = found.find(({ name }) => !known.includes(name))
  if (made !== undefined) {
    const file = { peer, collection, file: made.name, sizeBytes: made.sizeBytes }
    return { kind: 'keep', snapshot: { ...rest, files: [...snapshot.files, file] } }
  }
  if (askedAt === undefined) {
    // What was noted and not asked for is not asked for any more.
    return snapshot.isLeaving === true ? { kind: 'keep', snapshot: rest } : { kind: 'ask', place: { peer, collection } }
  }
  if (Date.parse(now) - Date.parse(askedAt) <= FILE_TAKES_MOST) return { kind: 'wait' }
  const failure = `The snapshot of collection "${collection}" at peer ${peer} did not end within an hour.`
  return { kind: 'keep', snapshot: { ...rest, failure } }
}
