/** Objects in each other; those of Kubernetes are a few dozen. */
const DEEPEST = 1_000

/**
 * Whether a text of JSON has more values than that, as its commas and lists count, or is nested deeper than any answer. Texts
 * are looked through without being parsed: a value of three characters takes twenty times as much in memory, and more with what
 * a schema says of it.
 */
export function hasMoreValues(json: string, most: number): boolean {
  let [values, depth] = [0, 0]
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at)
    else if ((code === COMMA || code === BRACKET) && ++values > most) return true
    else if (code === BRACE && ++depth > DEEPEST) return true
    else if (code === END_OF_BRACE) depth -= 1
  }
  return false
}

/** The end of the text that begins there: its content is one value. */
function endOfText(json: string, begin: number): number {
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
