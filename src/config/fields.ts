import { z } from 'zod'

/** Forms that settings have, as texts of the environment or as values of a file. */

export const Whole = z.coerce.number().int()
export const Port = Whole.min(0).max(65535)
export const Seconds = Whole.min(1)
export const Flag = z.union([z.boolean(), z.stringbool()])
export const List = z.union([
  z.array(z.string()),
  z.string().transform((text) => text.split(',').filter((part) => part !== '')),
])
export const Url = z.url({ protocol: /^https?$/ })
