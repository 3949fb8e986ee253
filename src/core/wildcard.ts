/** Whether the text matches the pattern: `*` stands for any number of characters, `?` for one. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let [at, inText, star, resume] = [0, 0, -1, 0]
  while (inText < text.length) {
    const wanted = pattern[at]
    if (wanted === '*') {
      star = at
      at += 1
      resume = inText
    } else if (wanted === '?' || wanted === text[inText]) {
      at += 1
      inText += 1
    } else if (star >= 0) {
      // Let the last star take one more character. Earlier stars are never retried, so the attempts do not multiply.
      at = star + 1
      resume += 1
      inText = resume
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}
