import type { DeletedRef, Head, SourceEvent } from './events.ts'

/** What a source remembers of deliveries: where refs point, and which deliveries it has received. */
export type DeliveryJournal = {
  heads?: RecordedHead[] | undefined
  deliveries?: string[] | undefined
  lastEventAt?: string | undefined
  /** Null removes it. */
  removedAt?: string | null | undefined
  /** Null: ask the provider again. */
  lastCheckedAt?: string | null | undefined
}
export type RecordedHead = Omit<Head, 'before'> & {
  deliveryId: string
  receivedAt: string
  missing?: MissingPushes | undefined
}
/** Pushes of a ref that have not arrived although a later one has: where they begin, if that is known, and end. */
export type MissingPushes = { from?: string | undefined; to: string }

/** Maximum refs; the ref without a push for the longest time is dropped first. */
export const HEADS_KEPT = 100
/** Maximum keys of deliveries: two for each. */
export const DELIVERY_KEYS_KEPT = 600

export type Delivery = { id: string; keys: readonly string[]; event: SourceEvent; at: string }

/**
 * Adds a delivery to the journal; returns undefined for a repeat. A ref has one entry, its newest: readers need to know
 * where it points, not how it got there.
 */
export function withDelivery(
  journal: DeliveryJournal,
  delivery: Delivery,
  installationId?: string,
): DeliveryJournal | undefined {
  const { id: deliveryId, keys, event, at } = delivery
  const had = journal.deliveries ?? []
  if (keys.some((key) => had.includes(key))) return undefined
  const next: DeliveryJournal = { deliveries: [...had, ...keys].slice(-DELIVERY_KEYS_KEPT), lastEventAt: at }
  if (event.kind === 'Heads') {
    const known = new Map((journal.heads ?? []).map((head) => [keyOf(head), head]))
    const fresh = event.heads.map((head) =>
      headAfter(known.get(keyOf(head)), { ...head, deliveryId: deliveryId.slice(0, 128), receivedAt: at }),
    )
    const reported = [...fresh, ...(event.gone ?? [])].map(keyOf)
    const isReplaced = (old: Head) => reported.includes(keyOf(old))
    next.heads = [...(journal.heads ?? []).filter((old) => !isReplaced(old)), ...fresh].slice(-HEADS_KEPT)
  }
  if (event.kind === 'Removed' && event.installationId === installationId) next.removedAt = at
  if (event.kind === 'Changed' && event.installationId === installationId)
    Object.assign(next, { removedAt: null, lastCheckedAt: null })
  return next
}

/**
 * Returns where a ref points after a delivery. Providers may send two pushes in the wrong order: one that fills a gap
 * before the current commit is older, and does not move the ref.
 */
function headAfter(known: RecordedHead | undefined, { before, ...head }: Head & RecordedHead): RecordedHead {
  if (before === undefined || before === head.commit) return head
  if (known === undefined) return { ...head, missing: { to: before } }
  const { commit, missing } = known
  if (before === commit) return missing === undefined ? head : { ...head, missing }
  if (missing === undefined || (before !== missing.from && head.commit !== missing.to))
    return { ...head, missing: { from: commit, to: before } }
  const { missing: _, ...rest } = known
  const left = before === missing.from ? { from: head.commit, to: missing.to } : { ...missing, to: before }
  return left.from === left.to ? rest : { ...rest, missing: left }
}

function keyOf({ kind, repositoryId, ref }: DeletedRef): string {
  return JSON.stringify([kind, repositoryId, ref])
}
