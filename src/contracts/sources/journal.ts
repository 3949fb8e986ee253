import type { GoneRef, Head, SourceEvent } from './events.ts'

/** What a source remembers of deliveries: where refs stand, and which deliveries it had. */
export type Journal = {
  heads?: RecordedHead[] | undefined
  deliveries?: string[] | undefined
  lastEventAt?: string | undefined
  /** Null takes it away. */
  removedAt?: string | null | undefined
  /** Null: the provider is to be asked anew. */
  lastCheckedAt?: string | null | undefined
}
export type RecordedHead = Head & { deliveryId: string; receivedAt: string }

/** Refs that are remembered; the one that was quiet for longest goes first. */
export const HEADS_KEPT = 100
/** Keys of deliveries that are remembered: two for each. */
export const DELIVERY_KEYS_KEPT = 600

export type Delivery = { id: string; keys: readonly string[]; event: SourceEvent; at: string }

/**
 * The journal with the delivery in it; undefined if it had it already. A ref has one entry, its newest: whoever follows
 * needs to know where it stands, not how it came there.
 */
export function withDelivery(journal: Journal, delivery: Delivery, installationId?: string): Journal | undefined {
  const { id: deliveryId, keys, event, at } = delivery
  const known = journal.deliveries ?? []
  if (keys.some((key) => known.includes(key))) return undefined
  const next: Journal = { deliveries: [...known, ...keys].slice(-DELIVERY_KEYS_KEPT), lastEventAt: at }
  if (event.kind === 'Heads') {
    const fresh = event.heads.map((head) => ({ ...head, deliveryId: deliveryId.slice(0, 128), receivedAt: at }))
    const told = [...fresh, ...(event.gone ?? [])].map(keyOf)
    const isReplaced = (old: Head) => told.includes(keyOf(old))
    next.heads = [...(journal.heads ?? []).filter((old) => !isReplaced(old)), ...fresh].slice(-HEADS_KEPT)
  }
  if (event.kind === 'Removed' && event.installationId === installationId) next.removedAt = at
  if (event.kind === 'Changed' && event.installationId === installationId)
    Object.assign(next, { removedAt: null, lastCheckedAt: null })
  return next
}

function keyOf({ kind, repositoryId, ref }: GoneRef): string {
  return JSON.stringify([kind, repositoryId, ref])
}
