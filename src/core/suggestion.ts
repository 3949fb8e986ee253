import leven from 'leven'

/** Longer words are not typos, and take long to compare. */
const WORD_MAX = 64

/**
 * Returns what a mistyped word may mean, as the end of a sentence; empty if nothing is close. A third of the letters
 * may be wrong: beyond that, a suggestion is a guess.
 */
export function suggestion(word: string, known: Iterable<string>): string {
  if (word.length > WORD_MAX) return ''
  const maxDistance = Math.floor(word.length / 3)
  let nearest: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = leven(word.toLowerCase(), name.toLowerCase(), { maxDistance: maxDistance + 1 })
    if (distance <= maxDistance && (nearest === undefined || distance < nearest.distance)) nearest = { name, distance }
  }
  return nearest === undefined ? '' : `; did you mean "${nearest.name}"?`
}
