/** The next text, comment, instruction or tag. What is none ends the reading, so that it takes no longer than the text is. */
const PIECE =
  /(?<words>[^<&]+|&#?\w+;)|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<\/(?<closed>[^\s<>/="'!?]+)\s*>|<(?<opened>[^\s<>/="'!?]+)(?:\s+[^\s<>/="']+\s*=\s*(?:"[^<&"]*(?:&#?\w+;[^<&"]*)*"|'[^<&']*(?:&#?\w+;[^<&']*)*'))*\s*(?<empty>\/?)>/y

/** Whether a text is one XML element whose parts end where they should. Definitions (DOCTYPE) are not taken. */
export function isWellFormedXml(text: string): boolean {
  const piece = new RegExp(PIECE)
  const open: string[] = []
  let roots = 0
  while (piece.lastIndex < text.length) {
    const { words, closed, opened, empty } = piece.exec(text)?.groups ?? {}
    // Without a match it begins again at the start.
    if (piece.lastIndex === 0) return false
    if (words !== undefined && words.trim() !== '' && open.length === 0) return false
    if (closed !== undefined && closed !== open.pop()) return false
    if (opened === undefined) continue
    if (open.length === 0) roots += 1
    if (empty === '') open.push(opened)
  }
  return roots === 1 && open.length === 0
}
