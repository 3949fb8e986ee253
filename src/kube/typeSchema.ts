import { isRecord } from '../core/isRecord.ts'
import forms from './forms.json' with { type: 'json' }
import type { Resource } from './object.ts'

/**
 * Forms by field name: `s` string, `d` time, `n` number, `b` boolean, `i` number or string, otherwise the name of a
 * type. Prefixes: `[` list of, `{` map of, `!` required.
 */
type Fields = Readonly<Record<string, string>>

const TYPES: Readonly<Record<string, Fields>> = forms.types
const KINDS: Readonly<Record<string, string>> = forms.kinds
/** The fields that are checked in resources of operators. */
const OPERATOR_FIELDS: Fields = { spec: 'Any', status: 'Status' }
const OPERATOR_TYPES: Readonly<Record<string, Fields>> = {
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

/** Whether an object matches the Kubernetes schema of its type. Deletes null fields, which mean absent. */
export function matchesTypeSchema({ group, kind, metadataOnly }: Resource, object: Record<string, unknown>): boolean {
  if (metadataOnly === true) return true
  return hasFields(object, TYPES[KINDS[`${group}/${kind}`] ?? ''] ?? OPERATOR_FIELDS)
}

function hasFields(value: unknown, fields: Fields): boolean {
  if (!isRecord(value)) return false
  return Object.entries(fields).every(([name, form]) => {
    const isRequired = form.startsWith('!')
    // Programs written in Go send null for a required list that is empty.
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
  return SCALARS[form]?.(value) ?? hasFields(value, TYPES[form] ?? OPERATOR_TYPES[form] ?? {})
}
