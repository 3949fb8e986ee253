import { z } from 'zod'
import { isRecord } from '../core/isRecord.ts'
import { isShown } from '../core/shownText.ts'
import { unwrapSchema } from '../core/unwrapSchema.ts'
import { SHOWN_TEXTS } from './fields.ts'

type HiddenText = { readonly path: readonly PropertyKey[]; readonly message: string }

/** Returns the texts in a value that people are shown and that contain invisible characters. */
export function hiddenTexts(given: z.ZodType, value: unknown, path: HiddenText['path'] = []): HiddenText[] {
  const schema = unwrapSchema(given)
  // The text may be registered with its default or without.
  const shown = (SHOWN_TEXTS.get(given) ?? SHOWN_TEXTS.get(schema))?.shown
  if (shown !== undefined)
    return typeof value !== 'string' || isShown(shown, value) ? [] : [{ path, message: shown.message }]
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((item, at) => hiddenTexts(schema.element as z.ZodType, item, [...path, at]))
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return []
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>)
  return fields.flatMap(([name, field]) => hiddenTexts(field, value[name], [...path, name]))
}
