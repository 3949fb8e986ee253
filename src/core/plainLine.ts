/** Whatever breaks a line of a status or of a terminal, or turns the direction of what follows. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** A text of another system, as one line that can be shown. */
export function plainLine(text: string, most: number): string {
  const line = text
    .slice(0, 4 * most)
    .replaceAll(UNSEEN, ' ')
    .trim()
  // Not in the middle of a character of two halves.
  return line.length <= most ? line : line.slice(0, most).replace(/[\ud800-\udbff]$/, '')
}
