import { isRecord } from '../core/isRecord.ts'
import forms from './forms.json' with { type: 'json' }
import type { Resource } from './object.ts'

/**
 * By field: `s` text, `d` time, `n` number, `b` boolean, `i` number or text, else the name of a type; `[` before it a list of
 * them, `{` a map, `!` what is always there.
 */
type Fields = Readonly<Record<string, string>>

const TYPES: Readonly<Record<string, Fields>> = forms.types
const KINDS: Readonly<Record<string, string>> = forms.kinds
/** What every resource of an operator says of itself. */
const OF_OTHERS: Fields = { spec: 'Any', status: 'Status' }
const OWN: Readonly<Record<string, Fields>> = {
  Any: {},
  Status: { conditions: '[Condition' },
  Condition: { type: '!s', status: '!s', reason: 's', message: 's', lastTransitionTime: 's' },
}
const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  s: (value) => typeof value === 'string',
  d: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  n: (value) => typeof value === 'number',
  b: (value) => typeof value === 'boolean',
  i: (value) => typeof value === 'string' || typeof value === 'number',
}

/** Whether an object is what Kubernetes describes as its type. Null means nothing there, and is taken out. */
export function hasFormOf({ group, kind, metadataOnly }: Resource, object: Record<string, unknown>): boolean {
  if (metadataOnly === true) return true
  return hasFields(object, TYPES[KINDS[`${group}/${kind}`] ?? ''] ?? OF_OTHERS)
}

function hasFields(value: unknown, fields: Fields): boolean {
  if (!isRecord(value)) return false
  return Object.entries(fields).every(([name, form]) => {
    const isRequired = form.startsWith('!')
    // An empty list that is always there is null where a program in Go has not made one.
    if (value[name] === null && form.startsWith('![')) value[name] = []
    if (value[name] === null) delete value[name]
    if (value[name] === undefined) return !isRequired
    return hasForm(value[name], isRequired ? form.slice(1) : form)
  })
}

function hasForm(value: unknown, form: string): boolean {
  const inner = form.slice(1)
  if (form.startsWith('[')) return Array.isArray(value) && value.every((each) => hasForm(each, inner))
  if (form.startsWith('{')) return isRecord(value) && Object.values(value).every((each) => hasForm(each, inner))
  return SCALARS[form]?.(value) ?? hasFields(value, TYPES[form] ?? OWN[form] ?? {})
}
