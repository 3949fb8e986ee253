import { z } from 'zod'

/** Returns the value with each of its dates in UTC; the same value if they are. */
type UtcConverter = (value: unknown, previous?: unknown) => unknown

const UNCHANGED: UtcConverter = (value) => value
const CONVERTERS = new WeakMap<z.ZodType, UtcConverter>()

/**
 * Dates are accepted with any offset and shown in UTC with `Z`: those of a body are converted before they are stored,
 * those of an answer because kubectl stores them as written. A date that equals the previous one stays as it is
 * written, so that what was read can be sent back.
 *
 * @param schema determines which fields are dates
 */
export function datesInUtc(schema: z.ZodType): UtcConverter {
  const known = CONVERTERS.get(schema)
  if (known !== undefined) return known
  // Ends the recursion for a schema that contains itself.
  CONVERTERS.set(schema, (value, previous) => made(value, previous))
  const made = converterOf(schema)
  CONVERTERS.set(schema, made)
  return made
}

function converterOf(schema: z.ZodType): UtcConverter {
  if (schema instanceof z.ZodISODateTime) return toUtc
  if (schema instanceof z.ZodArray) return convertItems(datesInUtc(schema.element as z.ZodType))
  if (schema instanceof z.ZodRecord) return convertFields(() => datesInUtc(schema.valueType as z.ZodType))
  if (schema instanceof z.ZodUnion) return convertAny(schema.options.map((option) => datesInUtc(option as z.ZodType)))
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as Record<string, z.ZodType>)
    const dated = fields
      .map(([name, field]) => [name, datesInUtc(field)] as const)
      .filter(([, convert]) => convert !== UNCHANGED)
    const byName = new Map(dated)
    return byName.size === 0 ? UNCHANGED : convertFields((name) => byName.get(name))
  }
  const { innerType } = schema.def as { innerType?: z.ZodType }
  return innerType === undefined ? UNCHANGED : datesInUtc(innerType)
}

function convertItems(convert: UtcConverter): UtcConverter {
  if (convert === UNCHANGED) return UNCHANGED
  return (value, previous) => {
    if (!Array.isArray(value)) return value
    const before = Array.isArray(previous) ? previous : []
    const items = value.map((item, index) => convert(item, before[index]))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
}

function convertFields(converterOf: (name: string) => UtcConverter | undefined): UtcConverter {
  return (value, previous) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const before = (previous ?? {}) as Record<string, unknown>
    let copy: Record<string, unknown> | undefined
    for (const [name, part] of Object.entries(value)) {
      const next = converterOf(name)?.(part, before[name]) ?? part
      if (next === part) continue
      copy ??= { ...value }
      copy[name] = next
    }
    return copy ?? value
  }
}

function convertAny(options: readonly UtcConverter[]): UtcConverter {
  const converters = options.filter((convert) => convert !== UNCHANGED)
  if (converters.length === 0) return UNCHANGED
  return (value, previous) => converters.reduce((next, convert) => convert(next, previous), value)
}

const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d+)?[+-]\d\d:\d\d$/

function toUtc(value: unknown, previous: unknown): unknown {
  if (typeof value !== 'string' || value === previous) return value
  const time = Date.parse(value)
  if (typeof previous === 'string' && Date.parse(previous) === time) return previous
  const parts = WITH_OFFSET.exec(value)
  // Years before 0000 and after 9999 cannot be written in this form.
  if (parts === null || Number.isNaN(time) || !/^\d/.test(new Date(time).toISOString())) return value
  // Offsets are whole minutes, so the fraction of a second stays as exact as it was given.
  return `${new Date(time).toISOString().slice(0, 19)}${parts[2] ?? ''}Z`
}
