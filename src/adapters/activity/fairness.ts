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
  const newestFirst = entries.toReversed().sort(byTimeDescending)
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

type Group = { readonly members: readonly Entry[]; readonly share: number }

/** Groups entries, and gives each group at most an equal share of the capacity. */
function shareOut(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  weightOf: (entry: Entry) => number,
  capacity: number,
): readonly Group[] {
  const groups = [...Map.groupBy(entries, keyOf).values()]
    .map((members) => ({ members, weight: members.reduce((sum, entry) => sum + weightOf(entry), 0) }))
    .sort((one, other) => one.weight - other.weight)
  let left = capacity
  return groups.map(({ members, weight }, index) => {
    const share = Math.min(weight, left / (groups.length - index))
    left -= share
    return { members, share }
  })
}

/** Of entries of the same time, the one that was added later stays first. */
function byTimeDescending(one: Entry, other: Entry): number {
  return one.occurredAt < other.occurredAt ? 1 : one.occurredAt > other.occurredAt ? -1 : 0
}

export const actorOf = ({ actor }: Entry): string => JSON.stringify(actor)

/** The day, the action, and the first fields that it changed. */
function kindOf({ occurredAt, action, operation, outcome, changes }: Entry): string {
  const fields = new Set(changes.map(({ path }) => path.split('/')[1]))
  return JSON.stringify([occurredAt.slice(0, 10), action, operation, outcome, [...fields].slice(0, FIELDS_OF_KIND)])
}
