import { cutTo } from './plainLine.ts'

/**
 * Rules for texts that people are shown: invisible characters would make two names look alike, hide text, or change the
 * direction of what follows. Patterns are JavaScript with the flag u; `toRe2Pattern` converts them for the API server.
 */

/** Controls (Cc), format characters (Cf) such as U+200B and U+202E, and separators of lines (Zl, Zp). */
export const INVISIBLE_CHARACTERS = String.raw`\p{Cc}\p{Cf}\p{Zl}\p{Zp}`
/** Spaces of any width, and letters without a shape: Hangul fillers and the blank Braille pattern. */
const BLANK = String.raw`\p{Zs}\u115f\u1160\u2800\u3164\uffa0`
/** Format characters that shape visible text: joiners of emoji and of scripts, and the tag letters of a flag. */
const JOINER = String.raw`[\u200c\u200d]`
const FLAG = String.raw`\u{1f3f4}[\u{e0020}-\u{e007e}]{3,6}\u{e007f}`

const within = (others: string) => `([^${INVISIBLE_CHARACTERS}]|${JOINER}|${FLAG}${others})*`
/** A combining mark at the beginning has no base character. */
const FIRST = String.raw`([^${INVISIBLE_CHARACTERS}${BLANK}\p{M}]|${FLAG})`
const LAST = `([^${INVISIBLE_CHARACTERS}${BLANK}]|${FLAG})`

/** The rule for a text that is shown to people, and the words of its refusal. */
export type ShownText = { readonly pattern: string; readonly message: string }

/** A name: its first and last characters are visible, and so is everything between them. */
export const SHOWN_NAME: ShownText = {
  pattern: `^${FIRST}(${within('')}${LAST})?$`,
  message: 'must have no invisible characters, and no space at either end',
}
/** One line that is empty or has a visible character. */
export const SHOWN_LINE: ShownText = {
  pattern: `^(${within('')}${FIRST}${within('')})?$`,
  message: 'must not be blank, and must have no invisible characters',
}
/** Several lines, with tabs and line breaks. */
export const SHOWN_PROSE: ShownText = {
  pattern: `^${within(String.raw`|[\t\n\r]`)}$`,
  message: 'must have no invisible characters other than tabs and line breaks',
}

const compiled = new Map<string, RegExp>()

export function isShown({ pattern }: ShownText, text: string): boolean {
  const known = compiled.get(pattern) ?? new RegExp(pattern, 'u')
  compiled.set(pattern, known)
  return known.test(text)
}

/** Converts a pattern to the syntax of RE2, which the API server runs. */
export const toRe2Pattern = ({ pattern }: Pick<ShownText, 'pattern'>): string =>
  pattern.replaceAll(/\\u(?:\{([0-9a-f]+)\}|([0-9a-f]{4}))/g, (_whole, long, short) => `\\x{${long ?? short}}`)

/** A name from another system, as it can be shown; undefined if nothing of it can be shown. */
export function shownName(text: string, maxLength: number): string | undefined {
  const seen = text.replaceAll(new RegExp(`[${INVISIBLE_CHARACTERS}]+`, 'gu'), (hidden) =>
    hidden === '\u200d' ? hidden : ' ',
  )
  const name = cutTo(seen.trim(), maxLength).trim()
  return isShown(SHOWN_NAME, name) ? name : undefined
}

/** A joiner that joins no emoji is invisible in most scripts. */
const JOINERS = /(?<!\p{Extended_Pictographic}\ufe0f?)[\u200c\u200d]/gu

/** Whether people would take two texts for the same: letters may be composed or decomposed, and hold joiners. */
export function looksSame(one: string, other: string): boolean {
  const [a = '', b = ''] = [one, other].map((text) => text.normalize('NFC').replaceAll(JOINERS, ''))
  return a === b
}
