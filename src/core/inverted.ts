/**
 * A table that says each value once: `{ Read: 'select show' }` becomes `{ select: 'Read', show: 'Read' }`.
 *
 * @param words those that have the value, with blanks between them
 */
export function inverted<Value extends string>(
  words: Readonly<Partial<Record<Value, string>>>,
): Readonly<Record<string, Value>> {
  const all = Object.entries(words) as [Value, string][]
  return Object.fromEntries(all.flatMap(([value, own]) => own.split(/\s+/).map((word) => [word, value])))
}
