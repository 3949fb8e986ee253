/** What percent-encoding says (RFC 3986 section 2.1), decoded once; undefined if it is not the UTF-8 of a text. */
export function percentDecoded(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
