/** Characters that break a line of a status or a terminal, or change the direction of the text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** Returns text of another system as one line of at most `maxLength` characters that can be shown. */
export function plainLine(text: string, maxLength: number): string {
  const line = text
    .slice(0, 4 * maxLength)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  return cutTo(line, maxLength)
}

/** Returns the first `maxLength` characters, without half of a surrogate pair at their end. */
export function cutTo(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
}
