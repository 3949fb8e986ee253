import type { AnyKind } from '../../crds/define.ts'
import type { RecordOf, Records } from './records.ts'

/**
 * What is computed from all objects of a kind and kept until one of them changes, so that thousands of rows cost one
 * computation. For small results: each holds on to what it was made of.
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
