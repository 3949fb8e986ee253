import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { isRecord } from '../core/isRecord.ts'
import { unwrapSchema } from '../core/unwrapSchema.ts'
import { withElement } from '../core/withElement.ts'

/**
 * Items of lists have no defaults in a CRD: client-side apply replaces lists as a whole, and would each time remove
 * what the API server filled in. So a record with defaults is declared once, a kind uses it without them, and code that
 * reads it completes it.
 */

/** Keyed by definition, which a schema keeps when it gets another description. */
const WHOLE = new WeakMap<object, z.ZodType>()

/** Returns the schema without defaults, at any depth: such fields become optional, and their descriptions say so. */
export function stripDefaults<Schema extends z.ZodObject>(schema: Schema): z.ZodType<z.input<Schema>, z.input<Schema>> {
  const stripped = withoutDefaults(schema)
  return registerFullSchema(stripped, schema) as z.ZodType<z.input<Schema>, z.input<Schema>>
}

/** Returns `stripped`, and registers `full` as the schema with its defaults; for a record that contains such a list. */
export function registerFullSchema<Schema extends z.ZodType>(stripped: Schema, full: z.ZodType): Schema {
  WHOLE.set(stripped.def, full)
  return stripped
}

function withoutDefaults(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodArray) return withElement(schema, withoutDefaults(schema.element as z.ZodType))
  if (!(schema instanceof z.ZodObject)) return schema
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>)
  return z.strictObject(Object.fromEntries(fields.map(([name, field]) => [name, withoutDefault(field)])))
}

function withoutDefault(field: z.ZodType): z.ZodType {
  const { description = '' } = field
  if (field instanceof z.ZodDefault) {
    const value: unknown = field.def.defaultValue
    const defaultText = Array.isArray(value) ? 'none' : String(value)
    const text = description.includes('if absent') ? description : `${description}; ${defaultText} if absent`
    return withoutDefaults(field.unwrap() as z.ZodType)
      .optional()
      .describe(text)
  }
  if (field instanceof z.ZodOptional)
    return withoutDefaults(field.unwrap() as z.ZodType)
      .optional()
      .describe(description)
  const stripped = withoutDefaults(field)
  return stripped === field ? field : stripped.describe(description)
}

/** Returns the schema with the defaults that `stripDefaults` removed from the items of a list. */
export function fullSchemaOf(schema: z.ZodType): z.ZodType {
  const whole = WHOLE.get(schema.def)
  if (whole !== undefined) return whole
  if (!(schema instanceof z.ZodArray)) return schema
  return withElement(schema, fullSchemaOf(schema.element as z.ZodType))
}

/**
 * Returns a stored value with the defaults of absent fields. It was validated when it was written: a part that the
 * schema does not accept, although an earlier version did, stays as it is.
 */
export function withDefaults<Schema extends z.ZodType>(given: Schema, value: unknown): z.output<Schema>
export function withDefaults(given: z.ZodType, value: unknown): unknown {
  const { success, data } = given.safeParse(value)
  if (success) return data
  const schema = unwrapSchema(given)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => withDefaults(schema.element as z.ZodType, item))
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return value
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>)
  const read = fields.map(([name, field]) => [name, withDefaults(field, value[name])] as const)
  return { ...value, ...Object.fromEntries(read.filter(([, part]) => part !== undefined)) }
}

/** Returns a value without absent fields, and without fields that equal their default. */
export function stripDefaultValues(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => stripDefaultValues(schema.element as z.ZodType, item))
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
      let inner = field
      while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap() as z.ZodType
      const stripped = stripDefaultValues(inner, record[name])
      const isAbsent = stripped === undefined || stripped === null
      const isDefault = field instanceof z.ZodDefault && isDeepStrictEqual(stripped, field.def.defaultValue)
      return isAbsent || isDefault ? [] : [[name, stripped]]
    }),
  )
}
