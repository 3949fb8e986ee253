import type { z } from 'zod'

/** Returns the list with items of another schema, and with what is registered about it, such as that it is a set. */
export function withElement(list: z.ZodArray, element: z.ZodType): z.ZodType {
  if (element === list.element) return list
  return list.clone({ ...list.def, element: element as never }).meta({ ...list.meta() })
}
