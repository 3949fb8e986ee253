import { isRecord } from '../core/isRecord.ts'
import type { KubeObject } from '../core/object.ts'
import type { ListOptions, WatchStreamOptions } from './client.ts'

/** One change in the fake's history. */
export type Change = {
  version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  id: string
  object: KubeObject
  before?: KubeObject
}

/** Returns a change as a watch with selectors sees it: leaving the selection is DELETED, entering it ADDED. */
export function visibleEventType(change: Change, options: WatchStreamOptions): Change['type'] | undefined {
  const now = change.type !== 'DELETED' && matchesSelectors(change.object, options)
  const before = change.before !== undefined && matchesSelectors(change.before, options)
  if (now) return before ? 'MODIFIED' : 'ADDED'
  return before ? 'DELETED' : undefined
}

export function matchesSelectors(
  object: KubeObject,
  options: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>,
): boolean {
  if (options.namespace !== undefined && object.metadata.namespace !== options.namespace) return false
  return matchesLabels(object, options.labelSelector) && matchesFields(object, options.fieldSelector)
}

/** Supports the selectors that we write: `a=b`, `a!=b`, `a`, `!a`, `a in (b,c)`, joined by commas. */
function matchesLabels(object: KubeObject, selector: string | undefined): boolean {
  const labels = object.metadata.labels ?? {}
  return terms(selector).every((term) => {
    const list = /^(\S+) (in|notin) \(([^)]*)\)$/.exec(term)
    if (list !== null) {
      const values = (list[3] ?? '').split(',').map((value) => value.trim())
      return values.includes(labels[list[1] ?? ''] ?? '\0') === (list[2] === 'in')
    }
    if (term.startsWith('!')) return !(term.slice(1) in labels)
    const [, key = '', operator, value] = /^([^=!]+)(?:(!=|==?)(.*))?$/.exec(term) ?? []
    if (operator === undefined) return key in labels
    return (labels[key] === value) === (operator !== '!=')
  })
}

/** Supports `metadata.name=x` and `status.phase!=y`, joined by commas. */
function matchesFields(object: KubeObject, selector: string | undefined): boolean {
  return terms(selector).every((term) => {
    const [, path = '', operator, value] = /^([^=!]+)(!=|==?)(.*)$/.exec(term) ?? []
    const found = path.split('.').reduce<unknown>((part, name) => (isRecord(part) ? part[name] : undefined), object)
    return (String(found ?? '') === value) === (operator !== '!=')
  })
}

function terms(selector: string | undefined): string[] {
  return (selector ?? '')
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
}
