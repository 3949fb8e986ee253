/** Values of a text that is never looked at: they are few. */
const FEW = 100_000
/** Fewest characters of a value of a real object, with its name and what stands between: most have twenty and more. */
const SPARSE = 8

/**
 * Whether a text of JSON has more values than an object of Kubernetes of its length could have. `[{},{},...` takes three
 * characters for each, and in memory twenty times as much.
 */
export function isDense(json: string): boolean {
  if (json.length < FEW) return false
  const most = Math.max(FEW, json.length / SPARSE)
  let values = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at)
    else if ((code === COMMA || code === BRACKET) && ++values > most) return true
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
