import { createLruCache } from '../../core/lruCache.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { RecordOf, Records } from './records.ts'

/**
 * Caches a value computed from all objects of a kind until one of them changes, so that thousands of rows cost one
 * computation. For small results: a kept value also keeps what it refers to in memory.
 */
export function derivedFrom<K extends AnyKind, Value>(
  kind: K,
  compute: (objects: readonly RecordOf<K>[]) => Value,
): (records: Pick<Records, 'peekAll' | 'revision'>) => Value {
  const known = new WeakMap<object, { revision: number; value: Value }>()
  return (records) => {
    const revision = records.revision(kind)
    const kept = known.get(records)
    if (kept?.revision === revision) return kept.value
    const value = compute(records.peekAll(kind))
    known.set(records, { revision, value })
    return value
  }
}

type NameIndex = { revision: number; names: ReadonlyMap<string, readonly string[]> }

/** Namespaces whose index is kept. */
const INDEXED_NAMESPACES_MAX = 1_000

/**
 * Indexes the objects of a namespace by what they name, such as buckets by their account: thousands of rows that each
 * look up theirs cost one scan. Only names are kept, so that the cache can pack objects that nothing refers to.
 */
export function indexedByReference<K extends AnyKind>(
  kind: K,
  namedIn: (object: RecordOf<K>) => string | undefined,
): (records: Pick<Records, 'peek' | 'peekAll' | 'revision'>, namespace: string, named: string) => RecordOf<K>[] {
  const known = new WeakMap<object, ReturnType<typeof createLruCache<string, NameIndex>>>()
  const namingIn = (records: Pick<Records, 'peekAll' | 'revision'>, namespace: string): NameIndex => {
    const revision = records.revision(kind, { namespace })
    const ofRecords = known.get(records) ?? createLruCache<string, NameIndex>(INDEXED_NAMESPACES_MAX)
    known.set(records, ofRecords)
    const kept = ofRecords.get(namespace)
    if (kept?.revision === revision) return kept
    const names = new Map<string, string[]>()
    for (const object of records.peekAll(kind, { namespace })) {
      const named = namedIn(object)
      const before = named === undefined ? undefined : names.get(named)
      if (before !== undefined) before.push(object.metadata.name)
      else if (named !== undefined) names.set(named, [object.metadata.name])
    }
    const naming = { revision, names }
    ofRecords.set(namespace, naming)
    return naming
  }
  return (records, namespace, named) =>
    (namingIn(records, namespace).names.get(named) ?? []).flatMap(
      (name) => records.peek(kind, { namespace, name }) ?? [],
    )
}
