import leven from 'leven'

/** A longer word is none that somebody mistyped, and takes long to compare. */
const WORD_MAX = 64

/**
 * What somebody may have meant who mistyped a word, as the end of a sentence; empty where nothing is near. A letter in three
 * may be wrong: beyond that a suggestion is a guess.
 */
export function suggestion(word: string, known: Iterable<string>): string {
  if (word.length > WORD_MAX) return ''
  const most = Math.floor(word.length / 3)
  let nearest: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = leven(word.toLowerCase(), name.toLowerCase(), { maxDistance: most + 1 })
    if (distance <= most && (nearest === undefined || distance < nearest.distance)) nearest = { name, distance }
  }
  return nearest === undefined ? '' : `; did you mean "${nearest.name}"?`
}
