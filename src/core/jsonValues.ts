/** Nested objects; those of Kubernetes are a few dozen levels deep. */
const DEPTH_MAX = 1_000

/**
 * Whether a JSON text has more than `max` values, counted by its commas and arrays, or is nested deeper than any
 * response. The text is scanned, not parsed: a parsed value of three characters takes twenty times its size in memory,
 * and schema errors about it take more.
 */
export function hasMoreValues(json: string, max: number): boolean {
  let [values, depth] = [0, 0]
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at)
    else if ((code === COMMA || code === BRACKET) && ++values > max) return true
    else if (code === BRACE && ++depth > DEPTH_MAX) return true
    else if (code === END_OF_BRACE) depth -= 1
  }
  return false
}

/** Returns the index of the closing quote: a string is one value, whatever it contains. */
export function endOfText(json: string, begin: number): number {
  let at = begin + 1
  while (at < json.length && json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b
const END_OF_BRACE = 0x7d
