/** What a JSON text holds; undefined for what is none, since the parser's own message would quote what it read. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
