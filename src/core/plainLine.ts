/** Characters that break a line of a status or a terminal, or change the direction of the text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** Returns text of another system as one line of at most `most` characters that can be shown. */
export function plainLine(text: string, most: number): string {
  const line = text
    .slice(0, 4 * most)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  return cutTo(line, most)
}

/** Returns the first `most` characters, without half of a surrogate pair at their end. */
export function cutTo(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
}
