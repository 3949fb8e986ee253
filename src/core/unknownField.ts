import { z } from 'zod'
import { suggestion } from './suggestion.ts'
import { UNKNOWN_FIELD_REASON } from './unknownFieldReasons.ts'
import { unwrapSchema } from './unwrapSchema.ts'

/**
 * Returns the refusal of a field that a record does not have.
 *
 * @param path of the record in the value that the schema parses
 */
export function unknownFieldReason(schema: z.ZodType, path: readonly PropertyKey[], field: string): string {
  const names = recordsAt(schema, path).flatMap(({ shape }) => Object.keys(shape))
  return `${UNKNOWN_FIELD_REASON}${suggestion(field, names)}`
}

/** Returns the schemas of the records that may stand at a path. */
export function recordsAt(wrapped: z.ZodType, path: readonly PropertyKey[]): z.ZodObject[] {
  const schema = unwrapSchema(wrapped)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => recordsAt(option as z.ZodType, path))
  if (schema instanceof z.ZodPipe) return recordsAt(schema.in as z.ZodType, path)
  const [name, ...rest] = path
  if (name === undefined) return schema instanceof z.ZodObject ? [schema] : []
  const inner = innerOf(schema, name)
  return inner === undefined ? [] : recordsAt(inner, rest)
}

function innerOf(schema: z.ZodType, name: PropertyKey): z.ZodType | undefined {
  if (schema instanceof z.ZodObject)
    return Object.hasOwn(schema.shape, name) ? (schema.shape as Record<PropertyKey, z.ZodType>)[name] : undefined
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType
  return schema instanceof z.ZodRecord ? (schema.valueType as z.ZodType) : undefined
}
