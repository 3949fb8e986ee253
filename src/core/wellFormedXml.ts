/** The next text, comment, instruction or tag. Anything else ends the scan, so that the scan takes linear time. */
const NEXT_TOKEN =
  /(?<words>[^<&]+|&#?\w+;)|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<\/(?<closed>[^\s<>/="'!?]+)\s*>|<(?<opened>[^\s<>/="'!?]+)(?:\s+[^\s<>/="']+\s*=\s*(?:"[^<&"]*(?:&#?\w+;[^<&"]*)*"|'[^<&']*(?:&#?\w+;[^<&']*)*'))*\s*(?<empty>\/?)>/y

/** Whether a text is one XML element whose tags are balanced. Definitions (DOCTYPE) are refused. */
export function isWellFormedXml(text: string): boolean {
  const piece = new RegExp(NEXT_TOKEN)
  const open: string[] = []
  let roots = 0
  while (piece.lastIndex < text.length) {
    const { words, closed, opened, empty } = piece.exec(text)?.groups ?? {}
    // A failed match resets lastIndex to 0.
    if (piece.lastIndex === 0) return false
    if (words !== undefined && words.trim() !== '' && open.length === 0) return false
    if (closed !== undefined && closed !== open.pop()) return false
    if (opened === undefined) continue
    if (open.length === 0) roots += 1
    if (empty === '') open.push(opened)
  }
  return roots === 1 && open.length === 0
}
