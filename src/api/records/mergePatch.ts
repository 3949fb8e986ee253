import { isRecord } from '../../core/isRecord.ts'

/**
 * RFC 7396: `patch` laid over `target`. Members that are null are removed, objects are merged, everything else
 * replaces. Neither argument changes. Names such as `__proto__` become members like any other, never a prototype.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result = new Map(Object.entries(isRecord(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, mergePatch(result.get(name), value))
  }
  return Object.fromEntries(result)
}

/**
 * The merge patch that turns `from` into `to`: the inverse of `mergePatch`. Undefined if nothing differs. Members that
 * are undefined count as absent; a merge patch cannot express null inside `to`, which counts as absent too.
 */
export function mergePatchBetween(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return isEqual(from, to) ? undefined : withoutNulls(to)
  const patch = new Map<string, unknown>()
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [ownMember(from, name), ownMember(to, name)]
    if (after === undefined) {
      if (before !== undefined) patch.set(name, null)
    } else if (isRecord(after) && !isRecord(before)) patch.set(name, withoutNulls(after))
    else {
      const part = mergePatchBetween(before, after)
      if (part !== undefined) patch.set(name, part)
    }
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch)
}

/** Reads own members only: a tag may be called `constructor`. */
function ownMember(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? (record[name] ?? undefined) : undefined
}

function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  return Object.fromEntries(kept.map(([name, part]) => [name, withoutNulls(part)]))
}

/** Equality of JSON values; members that are undefined or null count as absent, the order of members does not count. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other) || (one ?? null) === (other ?? null)) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]))
  }
  if (!isRecord(one) || !isRecord(other)) return false
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) =>
    isEqual(ownMember(one, name), ownMember(other, name)),
  )
}
