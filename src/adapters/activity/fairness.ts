import { compareTexts } from '../../core/textOrder.ts'
import type { Entry } from './port.ts'

/** How many of the changed fields tell kinds of actions apart; more would let a caller invent kinds without end. */
const FIELDS_OF_KIND = 2

/**
 * Returns the entries that stay when all of them weigh more than `capacity`. Callers share it: what one leaves goes to
 * the others, so the loudest lose first. The share of a caller is shared in the same way by what they did: otherwise
 * noise could push out their own single act.
 */
export function selectFairly(
  entries: readonly Entry[],
  weightOf: (entry: Entry) => number,
  capacity: number,
): ReadonlySet<Entry> {
  // Of entries of the same time, the one that was added later stays first.
  const newestFirst = entries.toReversed().sort((one, other) => compareTexts(other.occurredAt, one.occurredAt))
  const kept = new Set<Entry>()
  let left = capacity
  /** @returns the rest of the room */
  const keepWithin = (room: number, entry: Entry): number => {
    const weight = weightOf(entry)
    if (kept.has(entry) || weight > room + ROUNDING) return room
    kept.add(entry)
    left -= weight
    return room - weight
  }
  for (const { members, share } of shareOut(newestFirst, actorOf, weightOf, capacity))
    for (const kind of shareOut(members, kindOf, weightOf, share)) kind.members.reduce(keepWithin, kind.share)
  // What no share could hold whole.
  for (const entry of newestFirst) keepWithin(left, entry)
  return kept
}

const ROUNDING = 1e-9

/** Groups entries, and gives each group at most an equal share of the capacity. */
function shareOut(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  weightOf: (entry: Entry) => number,
  capacity: number,
): { members: readonly Entry[]; share: number }[] {
  const groups = [...Map.groupBy(entries, keyOf).values()]
  const weights = groups.map((members) => members.reduce((sum, entry) => sum + weightOf(entry), 0))
  const level = levelWithin(weights, capacity)
  return groups.map((members, index) => ({ members, share: Math.min(weights[index] ?? 0, level) }))
}

/** Returns the size to which the largest must be cut for all to fit; infinite if they do. The small ones lose nothing. */
export function levelWithin(sizes: readonly number[], capacity: number): number {
  const ascending = sizes.toSorted((one, other) => one - other)
  let left = capacity
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (size > share) return share
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

export const actorOf = ({ actor }: Entry): string => JSON.stringify(actor)

/** The day, the action, and the first fields that it changed. */
function kindOf({ occurredAt, action, operation, outcome, changes }: Entry): string {
  const fields = new Set(changes.map(({ path }) => path.split('/')[1]))
  return JSON.stringify([occurredAt.slice(0, 10), action, operation, outcome, [...fields].slice(0, FIELDS_OF_KIND)])
}
