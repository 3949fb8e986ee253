import { z } from 'zod'

/** The schema of the value itself, without what says that it may be absent or null. */
export function unwrapped(schema: z.ZodType): z.ZodType {
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
