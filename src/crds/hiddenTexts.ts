import { z } from 'zod'
import type { FieldError } from '../core/errors.ts'
import { isShown, type ShownText } from '../core/shownText.ts'
import { unwrapped } from '../core/unwrapped.ts'
import { SHOWN_TEXTS } from './fields.ts'

type Place = readonly string[]
/** A text that people are shown, with the names that lead to it; ITEM stands for any item of a list. */
type Shown = { readonly place: Place; readonly shown: ShownText }
const ITEM = '[]'

/**
 * The fields of a spec that hold what cannot be seen. As the API server has it, a text that the field held before is
 * forgiven: what was stored before this was asked stays editable.
 *
 * @param previous undefined for what is new
 */
export function hiddenTexts(schema: z.ZodType, next: unknown, previous: unknown): FieldError[] {
  return shownIn(schema).flatMap(({ place, shown }) => {
    const before = new Set(textsAt(previous, place).map(({ text }) => text))
    return textsAt(next, place)
      .filter(({ text }) => !before.has(text) && !isShown(shown, text))
      .map(({ path }) => ({ field: path.join('.'), message: shown.message }))
  })
}

const known = new WeakMap<z.ZodType, readonly Shown[]>()

/** Every write asks for them. */
function shownIn(schema: z.ZodType): readonly Shown[] {
  const found = known.get(schema) ?? shownBelow(schema, [])
  known.set(schema, found)
  return found
}

function shownBelow(given: z.ZodType, place: Place): Shown[] {
  const schema = unwrapped(given)
  // The text may be known with its default or without.
  const shown = (SHOWN_TEXTS.get(given) ?? SHOWN_TEXTS.get(schema))?.shown
  if (shown !== undefined) return [{ place, shown }]
  if (schema instanceof z.ZodArray) return shownBelow(schema.element as z.ZodType, [...place, ITEM])
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).flatMap(([name, part]) => shownBelow(part as z.ZodType, [...place, name]))
}

function textsAt(value: unknown, [name, ...rest]: Place, path: Place = []): { text: string; path: Place }[] {
  if (name === undefined) return typeof value === 'string' ? [{ text: value, path }] : []
  if (typeof value !== 'object' || value === null) return []
  if (name === ITEM) return Object.entries(value).flatMap(([at, item]) => textsAt(item, rest, [...path, at]))
  return textsAt((value as Record<string, unknown>)[name], rest, [...path, name])
}
