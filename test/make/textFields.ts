import { z } from 'zod'
import { hiddenTexts } from '../../src/crds/hiddenTexts.ts'

/** A place of a schema that takes text: a field, an item of a list, a value or a name in a map. */
export type TextField = { readonly path: string; readonly schema: z.ZodType }

/** Where a schema takes text, at any depth. A part that the library cannot inspect counts if it accepts any text. */
export function textFields(schema: z.ZodType, path: string, around: readonly z.ZodType[] = []): TextField[] {
  // The search ends at recursive schemas.
  if (around.includes(schema)) return []
  const below = (part: unknown, name: string) => textFields(part as z.ZodType, `${path}${name}`, [...around, schema])
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, part]) => below(part, `.${name}`))
  if (schema instanceof z.ZodArray) return below(schema.element, '')
  if (schema instanceof z.ZodRecord)
    return [{ path: `${path}{name}`, schema: namesOf(schema) }, ...below(schema.valueType, '')]
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => below(option, ''))
  if (schema instanceof z.ZodIntersection) return [...below(schema.def.left, ''), ...below(schema.def.right, '')]
  if (schema instanceof z.ZodLazy) return below(schema.unwrap(), '')
  const { innerType } = schema.def as { innerType?: z.ZodType }
  if (innerType !== undefined) return below(innerType, '')
  return takesText(schema) ? [{ path, schema }] : []
}

const TIME = '2026-01-31T12:00:00Z'
const ANY_VALUE: readonly unknown[] = ['x', '1.0.0', TIME, '', 1, true, [], {}, { pushedAt: TIME }]

/** The schema of the keys of the map. */
function namesOf(map: z.ZodRecord): z.ZodType {
  const value = ANY_VALUE.find((each) => map.safeParse({ name: each }).success)
  return z.string().refine((name) => {
    const { error } = map.safeParse({ [name]: value })
    return error === undefined || error.issues.every(({ code, path }) => path.length > 0 && code !== 'invalid_key')
  })
}

const NO_TEXT = new Set(['number', 'int', 'boolean', 'enum', 'literal', 'null', 'undefined', 'never', 'bigint', 'date'])
const takesText = ({ def }: z.ZodType) => !NO_TEXT.has(def.type)

/** Of C0 and C1, the one between them, and those that turn the direction of what follows. */
const CONTROLS = [
  ...['\u0000', '\u0001', '\b', '\t', '\n', '\v', '\f', '\r', '\u001b', '\u001f'],
  ...['\u007f', '\u0080', '\u0085', '\u009b', '\u009f'],
  ...['\u202a', '\u202e', '\u2066', '\u2069'],
]

/** Texts in the forms of fields, with a place for one more character. */
const FORMS: readonly ((odd: string) => string)[] = [
  (odd) => `a${odd}b`,
  (odd) => `a${odd}`,
  (odd) => `${odd}a`,
  (odd) => `https://shop.example.com/a${odd}b`,
  (odd) => `https://shop.example.com${odd}`,
  (odd) => `https://shop.example.com/?a=${odd}`,
  (odd) => `https://sh${odd}op.example.com/`,
  (odd) => `${odd}https://shop.example.com/`,
  (odd) => `oci://charts.example.com/sh${odd}op`,
  (odd) => `sh${odd}op.example.com`,
  (odd) => `shop.example.com${odd}`,
  (odd) => `*.example.com${odd}`,
  (odd) => `shop.example.com:5000/a${odd}:1`,
  (odd) => `docker.io/library/nginx:1${odd}`,
  (odd) => `nginx@sha256:${'0'.repeat(64)}${odd}`,
  (odd) => `sha256:${'0'.repeat(64)}${odd}`,
  (odd) => `${'0'.repeat(64)}${odd}`,
  (odd) => `${'0'.repeat(40)}${odd}`,
  (odd) => `ada${odd}@example.org`,
  (odd) => `ada@example.org${odd}`,
  (odd) => `10.0.0.0/8${odd}`,
  (odd) => `10.0.0.1${odd}`,
  (odd) => `${odd}10.0.0.0/8`,
  (odd) => `2001:db8::/32${odd}`,
  (odd) => `7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e${odd}`,
  (odd) => `${odd}7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e`,
  (odd) => `2026-01-31T12:00:00Z${odd}`,
  (odd) => `2026-01-31T12:00:00.1${odd}Z`,
  (odd) => `${odd}2026-01-31T12:00:00Z`,
  (odd) => `0 2 * * *${odd}`,
  (odd) => `0${odd}2 * * *`,
  (odd) => `1Gi${odd}`,
  (odd) => `500m${odd}`,
  (odd) => `1.2.3${odd}`,
  (odd) => `v1.2.3${odd}`,
  (odd) => `/boundaries/*${odd}`,
  (odd) => `/boundaries/7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e${odd}`,
  (odd) => `/a${odd}b`,
  (odd) => `/a/${odd}`,
  (odd) => `a/b${odd}`,
  (odd) => `jobs/write${odd}`,
  (odd) => `en_US.UTF-8${odd}`,
  (odd) => `Europe/Berlin${odd}`,
  (odd) => `GET${odd}`,
]

/** Texts with one control character, in each form of a field. */
export const CONTROLLED: readonly string[] = FORMS.flatMap((form) => CONTROLS.map(form))

const A_CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

/** Most schemas are those of several fields. */
const asked = new WeakMap<z.ZodType, string[]>()

/** Texts with a control character that the field accepts without removing it: spaces at the ends may be trimmed. */
export function controlsTaken({ schema }: TextField): string[] {
  const known = asked.get(schema)
  if (known !== undefined) return known
  const taken = CONTROLLED.filter((text) => {
    const read = schema.safeParse(text)
    if (!read.success || typeof read.data !== 'string' || !A_CONTROL.test(read.data)) return false
    return hiddenTexts(schema, read.data).length === 0
  })
  asked.set(schema, taken)
  return taken
}
