/** What stands in the place of a secret. */
export const MASK = '***'

/** Each with what is put in the place of a hit; quantifiers are bounded, so that no text takes long. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]{0,16384}?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g, MASK],
  [/\beyJ[\w-]{6,4096}\.[\w-]{4,8192}(?:\.[\w-]{0,4096}){0,3}/g, MASK],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,8192}/gi, `$1 ${MASK}`],
  [/\b([a-z][a-z0-9+.-]{1,31}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,512}@/gi, `$1${MASK}@`],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, MASK],
  [/\b(?:gh[pousr]_|glpat-|xox[abprs]-)[\w-]{10,255}/g, MASK],
  [
    /((?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|signature|api[-_]?key|access[-_]?key|private[-_]?key)[\w-]{0,32}["']?\s{0,4}[:=]\s{0,4})(?!\*\*\*)(?:"[^"\n]{1,4096}"|'[^'\n]{1,4096}'|[^\s"',;&]{1,4096})/gi,
    `$1${MASK}`,
  ],
]

/** The text without what looks like a secret: for words that people wrote and others read. */
export function redacted(text: string): string {
  return SECRETS.reduce((left, [pattern, mask]) => left.replace(pattern, mask), text)
}
