/**
 * Inverts a table that names each value once: `{ Read: 'select show' }` becomes `{ select: 'Read', show: 'Read' }`.
 *
 * @param words by value, its words, separated by white space
 */
export function inverted<Value extends string>(
  words: Readonly<Partial<Record<Value, string>>>,
): Readonly<Record<string, Value>> {
  const all = Object.entries(words) as [Value, string][]
  return Object.fromEntries(all.flatMap(([value, own]) => own.split(/\s+/).map((word) => [word, value])))
}
