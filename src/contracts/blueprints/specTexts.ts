import { escapedPart } from '../../core/jsonPointer.ts'

/** `output: {component, output}` in a spec: stands for an output of the resource that the component creates. */
export type OutputPlaceholder = { readonly component: string; readonly output: string }

export function isOutputPlaceholder(value: unknown): value is OutputPlaceholder {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { component, output, ...more } = value as Record<string, unknown>
  return typeof component === 'string' && typeof output === 'string' && Object.keys(more).length === 0
}

/** Yields every text and every mark of a spec, with its JSON Pointer (RFC 6901). */
export function* textsOf(
  value: unknown,
  pointer = '',
): Iterable<{ value: string | OutputPlaceholder; pointer: string }> {
  if (typeof value === 'string' || isOutputPlaceholder(value)) yield { value, pointer }
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) yield* textsOf(item, `${pointer}/${escapedPart(key)}`)
}

/** Returns the same tree with texts and marks replaced. */
export function mapTexts(value: unknown, change: (found: string | OutputPlaceholder) => unknown): unknown {
  if (typeof value === 'string' || isOutputPlaceholder(value)) return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}
