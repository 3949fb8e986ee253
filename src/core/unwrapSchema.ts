import { z } from 'zod'

/** Returns the schema of the value itself, without the wrappers that make it optional or nullable. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  let value = schema
  while (
    value instanceof z.ZodOptional ||
    value instanceof z.ZodNullable ||
    value instanceof z.ZodDefault ||
    value instanceof z.ZodPrefault
  )
    value = value.unwrap() as z.ZodType
  return value
}
