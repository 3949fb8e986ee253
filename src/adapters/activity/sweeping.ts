import type { ObjectMeta } from '../../core/object.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { levelWithin } from './fairness.ts'
import { bytesOf, headOf, isHead, newestOf, ownerOf } from './marks.ts'
import type { ResourcePath } from './port.ts'

/** What a boundary may keep: records, beyond which those of deleted resources go, and compressed bytes of all. */
export type BoundaryLimits = { readonly records: number; readonly bytes: number }

export type SweepPlan = {
  readonly removed: readonly ObjectMeta[]
  /** Heads of records to be thinned, and the bytes that each may keep. */
  readonly thinned: ReadonlyMap<ObjectMeta, number>
}

/** Thins below the limit, so that one more entry does not make every record be thinned again. */
const THINNED_TO = 15 / 16

/**
 * Decides from the metadata of all Secrets of activity which of them a sweep deletes, and which records it thins.
 *
 * @param oldest Secrets whose newest entry is older are past the retention period
 */
export function planSweep(
  all: readonly ObjectMeta[],
  oldest: string,
  exists: (resource: ResourcePath) => boolean,
  limits: BoundaryLimits,
): SweepPlan {
  const [past, present] = [all.filter((one) => newestOf(one) < oldest), all.filter((one) => newestOf(one) >= oldest)]
  const bytes = new Map<string, number>()
  for (const one of present) bytes.set(headOf(one), (bytes.get(headOf(one)) ?? 0) + bytesOf(one))
  const removed = [...past]
  const thinned = new Map<ObjectMeta, number>()
  for (const heads of Map.groupBy(present.filter(isHead), (one) => ownerOf(one).boundaryId).values()) {
    const surplus = new Set(
      heads
        .toSorted((one, other) => compareTexts(newestOf(other), newestOf(one)))
        .slice(limits.records)
        .filter((one) => !exists(ownerOf(one))),
    )
    removed.push(...surplus)
    const kept = heads.filter((one) => !surplus.has(one))
    const sizes = kept.map(({ name }) => bytes.get(name) ?? 0)
    if (sizes.reduce((sum, size) => sum + size, 0) <= limits.bytes) continue
    const level = levelWithin(sizes, limits.bytes * THINNED_TO)
    for (const [index, one] of kept.entries()) if ((sizes[index] ?? 0) > level) thinned.set(one, level)
  }
  return { removed, thinned }
}
