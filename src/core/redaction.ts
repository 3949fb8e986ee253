/** Replaces a secret. */
export const MASK = '***'

/**
 * Each with what is put in the place of a hit. What follows a start is bounded, and no start lies in what another one reads
 * over: a text of half a megabyte that anybody may send must not hold up those of others.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,8192}/gi, `$1 ${MASK}`],
  [/\b([a-z][a-z0-9+.-]{1,31}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,512}@/gi, `$1${MASK}@`],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, MASK],
  [/\b(?:gh[pousr]_|glpat-|xox[abprs]-)[\w-]{10,255}/g, MASK],
  [
    /((?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|signature|api[-_]?key|access[-_]?key|private[-_]?key)[\w-]{0,32}["']?\s{0,4}[:=]\s{0,4})(?!\*\*\*)(?:"[^"\n]{1,4096}"|'[^'\n]{1,4096}'|[^\s"',;&]{1,4096})/gi,
    `$1${MASK}`,
  ],
]

/** The text with everything that looks like a secret masked: for texts that people write and others read. */
export function redacted(text: string): string {
  const left = withoutPrivateKeys(text).replace(/[\w.-]+/g, withoutToken)
  return PATTERNS.reduce((rest, [pattern, mask]) => rest.replace(pattern, mask), left)
}

/** Of a key without an end the rest of the text may be a part. */
function withoutPrivateKeys(text: string): string {
  const [begin, end] = [/-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----/g, /-----END [A-Z ]{0,32}PRIVATE KEY-----/g]
  let kept = ''
  for (let at = 0; ; at = end.lastIndex) {
    begin.lastIndex = at
    const found = begin.exec(text)
    if (found === null) return kept + text.slice(at)
    kept += text.slice(at, found.index) + MASK
    end.lastIndex = begin.lastIndex
    if (end.exec(text) === null) return kept
  }
}

const [HEADER_LENGTH, PAYLOAD_LENGTH] = [9, 4]

/** A JSON Web Token: a part that begins with eyJ, which is `{"`, and another one (RFC 7519). */
function withoutToken(word: string): string {
  const parts = word.split('.')
  let length = 0
  for (const [index, part] of parts.entries()) {
    const at = part.search(/(?<![A-Za-z0-9_])eyJ/)
    const isHeader = at >= 0 && part.length - at >= HEADER_LENGTH
    if (isHeader && (parts[index + 1] ?? '').length >= PAYLOAD_LENGTH) return word.slice(0, length + at) + MASK
    length += part.length + 1
  }
  return word
}
