export const MASK = '***'

/**
 * Patterns with their replacements. Every repetition is bounded, and no match can begin inside what another attempt
 * scans: anybody may send half a megabyte of text, and masking it must not delay the requests of others.
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

/** Masks everything that looks like a secret in texts that people write and others read. */
export function redacted(text: string): string {
  const left = withoutPrivateKeys(text).replace(/[\w.-]+/g, withoutToken)
  return PATTERNS.reduce((rest, [pattern, mask]) => rest.replace(pattern, mask), left)
}

/** If a key has no end marker, the rest of the text is dropped, because it may be part of the key. */
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

/** Masks a JSON Web Token: a part that begins with eyJ, which encodes `{"`, followed by another part (RFC 7519). */
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
