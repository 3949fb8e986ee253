import { isRecord } from '../core/isRecord.ts'
import { compareQuantities, isQuantity } from '../core/quantity.ts'

/** Fields that identify the items of a list, from the API's list-map keys. The first that fits all items is used. */
const MERGE_KEYS: readonly (readonly string[])[] = [
  ['name'],
  ['uid'],
  ['mountPath'],
  ['containerPort', 'protocol'],
  ['port', 'protocol'],
  ['topologyKey', 'whenUnsatisfiable'],
  ['type'],
  ['ip'],
]

/** Paths of quantities in types of Kubernetes, which the API server may store in another unit. Any other text is stored as it is. */
const QUANTITY_PATH = /(^|[.\]])((requests|limits|hard|default|defaultRequest)\..+|sizeLimit)$/

/**
 * Returns the dotted path of the first place where `observed` is not as `desired`; undefined if there is none. Whatever
 * is only in `observed` (defaults, fields and list items of others) is ignored.
 *
 * Equal are: quantities of the same amount ("1000m" and 1, "1Gi" and "1024Mi"), not other texts ("1.10" and "1.1"); an absent field and the zero value
 * that the API server does not store (null, false, 0, "", {}, []). Lists whose items have a merge key are compared by
 * that key in any order, other lists item by item.
 */
export function firstDifference(desired: unknown, observed: unknown, path = ''): string | undefined {
  if (desired === undefined || desired === null) return undefined
  if ((observed === undefined || observed === null) && isZero(desired)) return undefined
  if (Array.isArray(desired)) return Array.isArray(observed) ? listDifference(desired, observed, path) : path
  if (isRecord(desired)) return isRecord(observed) ? recordDifference(desired, observed, path) : path
  return isSameScalar(desired, observed, path) ? undefined : path
}

function recordDifference(
  desired: Record<string, unknown>,
  observed: Record<string, unknown>,
  path: string,
): string | undefined {
  for (const [field, value] of Object.entries(desired)) {
    const found = firstDifference(value, observed[field], path === '' ? field : `${path}.${field}`)
    if (found !== undefined) return found
  }
  return undefined
}

function listDifference(desired: readonly unknown[], observed: readonly unknown[], path: string): string | undefined {
  const keys = MERGE_KEYS.find(
    (candidate) => identifiesItems(candidate, desired) && identifiesItems(candidate, observed),
  )
  if (keys === undefined || desired.length === 0) {
    if (desired.length !== observed.length) return path
    for (const [position, item] of desired.entries()) {
      const found = firstDifference(item, observed[position], `${path}[${position}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  const byKey = new Map(observed.map((item) => [mergeKey(keys, item), item]))
  for (const item of desired) {
    const key = mergeKey(keys, item)
    const found = firstDifference(item, byKey.get(key), `${path}[${key}]`)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether every item has the first key and no two items agree in all keys. */
function identifiesItems(keys: readonly string[], items: readonly unknown[]): boolean {
  const first = keys[0] ?? ''
  if (!items.every((item) => isRecord(item) && isKeyValue(item[first]))) return false
  return new Set(items.map((item) => mergeKey(keys, item))).size === items.length
}

function isKeyValue(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number'
}

/** Fills in the default protocol, as the API server does. */
function mergeKey(keys: readonly string[], item: unknown): string {
  const record = item as Record<string, unknown>
  return keys.map((key) => String(record[key] ?? (key === 'protocol' ? 'TCP' : ''))).join('/')
}

function isSameScalar(desired: unknown, observed: unknown, path: string): boolean {
  if (desired === observed) return true
  if (!QUANTITY_PATH.test(path)) return false
  const [one, other] = [quantityText(desired), quantityText(observed)]
  return one !== undefined && other !== undefined && compareQuantities(one, other) === 0
}

function quantityText(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && isQuantity(text) ? text : undefined
}

function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isRecord(value) && Object.values(value).every(isZero)
}
