import { isRecord } from '../core/isRecord.ts'
import type { KubeObject } from '../core/object.ts'

/** Applies an RFC 7396 merge patch to a copy. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return cloneJson(patch)
  const current = isRecord(target) ? target : {}
  const merged = copyWithout(current, patch)
  for (const [field, value] of Object.entries(patch)) {
    if (value !== null) merged[field] = mergePatch(current[field], value)
  }
  return merged
}

/** Copies the fields that are not in `given`; the caller merges, and so copies, the others. */
function copyWithout(record: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const field in record) if (!Object.hasOwn(given, field)) copy[field] = cloneJson(record[field])
  return copy
}

/**
 * Approximates server-side apply: removes what the manager's last intent had and the new one lacks, sets what the new
 * one has, and keeps the rest. Lists of named items merge by name; other lists are replaced.
 */
export function applyMerge(current: unknown, lastIntent: unknown, intent: unknown): unknown {
  if (Array.isArray(intent)) return applyList(current, lastIntent, intent)
  if (!isRecord(intent)) return cloneJson(intent)
  const before = isRecord(current) ? current : {}
  const last = isRecord(lastIntent) ? lastIntent : {}
  const merged = copyWithout(before, { ...last, ...intent })
  for (const [field, value] of Object.entries(intent)) merged[field] = applyMerge(before[field], last[field], value)
  // Keeps what others put into a record that this manager no longer wants.
  for (const [field, value] of Object.entries(last)) {
    if (Object.hasOwn(intent, field) || !isRecord(value) || !isRecord(before[field])) continue
    const left = applyMerge(before[field], value, {})
    if (Object.keys(left as object).length > 0) merged[field] = left
  }
  return merged
}

/** Returns the part of a manager's last intent that no other manager holds: only that may be removed. */
export function exclusivelyOwned(intent: unknown, others: readonly unknown[]): unknown {
  if (!isRecord(intent)) return intent
  const alone: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(intent)) {
    const theirs = others.flatMap((other) => (isRecord(other) && Object.hasOwn(other, field) ? [other[field]] : []))
    if (theirs.length === 0) alone[field] = value
    else if (isRecord(value)) alone[field] = exclusivelyOwned(value, theirs)
  }
  return alone
}

function applyList(current: unknown, lastIntent: unknown, intent: readonly unknown[]): unknown[] {
  if (!Array.isArray(current) || !named(intent) || !named(current)) return cloneJson([...intent])
  const last = Array.isArray(lastIntent) && named(lastIntent) ? lastIntent : []
  const wanted = new Map(intent.map((item) => [item.name, item]))
  const kept = current.filter((item) => wanted.has(item.name) || !last.some((old) => old.name === item.name))
  const byName = new Map(kept.map((item) => [item.name, cloneJson(item)]))
  for (const item of intent) {
    const before = last.find((old) => old.name === item.name)
    byName.set(item.name, applyMerge(byName.get(item.name), before, item) as { name: string })
  }
  return [...byName.values()]
}

function named(items: readonly unknown[]): items is { name: string }[] {
  return items.every((item) => isRecord(item) && typeof item.name === 'string')
}

/** Whether two values are equal as JSON, ignoring the order of fields. */
export function equalsJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => equalsJson(item, other[at]))
  }
  if (!isRecord(one) || !isRecord(other)) return false
  // Compares each value once: twice at every level would be 2^n comparisons at level n.
  return (
    Object.keys(one).every((key) => equalsJson(one[key], other[key])) &&
    Object.keys(other).every((key) => Object.hasOwn(one, key) || other[key] === undefined)
  )
}

/** Copies a JSON value, much faster than structuredClone. */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T
  if (!isRecord(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = cloneJson(value[key])
  return copy as T
}

/** Returns what a write stores: the status changes only through its subresource, all else only without one. */
export function mergeWrittenParts<T extends KubeObject>(current: T, next: T, subresource: string | undefined): T {
  if (subresource === 'status') return { ...cloneJson(current), status: next.status }
  if (subresource === 'scale') {
    const spec =
      isRecord(next.spec) && isRecord(current.spec) ? { ...current.spec, replicas: next.spec.replicas } : next.spec
    return { ...cloneJson(current), spec }
  }
  const { status: _status, ...rest } = next
  const { uid, creationTimestamp, deletionTimestamp, generation, resourceVersion } = current.metadata
  const kept = { uid, creationTimestamp, deletionTimestamp, generation, resourceVersion }
  const metadata = Object.fromEntries(
    Object.entries({ ...next.metadata, ...kept }).filter(([, value]) => value !== undefined),
  )
  return {
    ...rest,
    ...('status' in current && { status: cloneJson(current.status) }),
    metadata,
  } as unknown as T
}
