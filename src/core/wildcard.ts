/** Whether the text matches the pattern: `*` stands for any characters, also none, and `?` for one. */
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
      // The last star takes one character more. Earlier ones need not be tried again, so nothing multiplies.
      at = star + 1
      resume += 1
      inText = resume
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}
