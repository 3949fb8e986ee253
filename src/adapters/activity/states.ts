import { changesBetween, type Flat, flatten } from './changes.ts'
import type { Change, ObservedAction, WrittenState } from './port.ts'

/** The state of a resource after a recent write. States of late actions are inserted by generation. */
export type State = {
  generation: number
  flat: Flat | undefined
  labelling: string
  entryId: string
  /** When it was written; absent in older records. */
  at?: string
}
/** The states of one uid, oldest first. */
export type States = { readonly uid: string; readonly states: readonly State[] }

/** Milliseconds for which all states are kept: an API server retries undelivered audit events for minutes. */
const STATE_RETENTION_MS = 10 * 60_000
/** Kept regardless of age. */
const STATES_MIN = 8
const STATES_MAX = 256
const STATES_BYTES_MAX = 512 * 1024

export type Comparison = {
  known: States | undefined
  changes: readonly Change[]
  isChange: boolean
  /** Corrects the changes of the following write, when this one turns out to lie before it. */
  next?: { entryId: string; changes: readonly Change[] } | undefined
}

/** Works out what a write changed, from the known states around it. */
export function computeChanges(
  known: States | undefined,
  after: WrittenState | undefined,
  { id: entryId, occurredAt: at }: Pick<ObservedAction, 'id' | 'occurredAt'>,
  salt: string,
): Comparison {
  // The state afterwards is unknown: a deletion, a refusal, or an action on something else.
  if (after === undefined) return { known, changes: [], isChange: true }
  if ('replicas' in after) return compareScale(known, after, entryId)
  const flat = flatten(after.spec, salt)
  const states = known?.uid === after.uid ? known.states : []
  const { generation, labelling, uid, isNew } = after
  const same = states.find((state) => state.generation === generation)
  if (same !== undefined) {
    // A later write to a new object may be reported before its creation.
    const isMaker = isNew && same.entryId !== entryId
    const isChange = isMaker || same.labelling !== labelling
    const next = { ...same, labelling, entryId: isNew ? entryId : same.entryId }
    const updated = { uid, states: states.map((state) => (state === same ? next : state)) }
    return { known: isChange ? updated : known, changes: isMaker ? changesBetween({}, flat) : [], isChange }
  }
  const before = states.findLast((one) => one.generation < generation)
  const later = states.find((one) => one.generation > generation)
  // A write older than the oldest known state has nothing to be compared with.
  const from = before?.flat ?? (isNew ? {} : undefined)
  const next = { generation, flat, labelling, entryId, at }
  return {
    known: { uid, states: boundStates([...states, next]) },
    changes: changesBetween(from, flat),
    isChange: true,
    next: later && flat && later.flat && { entryId: later.entryId, changes: changesBetween(flat, later.flat) },
  }
}

function compareScale(
  known: States | undefined,
  after: Extract<WrittenState, { replicas: number }>,
  entryId: string,
): Comparison {
  const newest = known?.states.at(-1)
  if (known === undefined || newest?.flat === undefined) return { known, changes: [], isChange: true }
  const flat = { ...newest.flat, [after.pointer]: after.replicas }
  const changes = changesBetween(newest.flat, flat)
  if (changes.length === 0) return { known, changes, isChange: false }
  const next = { ...newest, flat, entryId, generation: newest.generation + 1 }
  return { known: { ...known, states: boundStates([...known.states, next]) }, changes, isChange: true }
}

function boundStates(states: readonly State[]): State[] {
  const ordered = states.toSorted((one, other) => one.generation - other.generation).slice(-STATES_MAX)
  const newest = Date.parse(ordered.at(-1)?.at ?? '')
  let bytes = 0
  const kept = ordered.toReversed().filter((state, index) => {
    bytes += JSON.stringify(state).length
    if (index === 0) return true
    return (
      bytes <= STATES_BYTES_MAX && (index < STATES_MIN || newest - Date.parse(state.at ?? '') <= STATE_RETENTION_MS)
    )
  })
  return kept.toReversed()
}
