/** Percent-encoded text (RFC 3986 section 2.1), decoded once; undefined if it is not valid UTF-8. */
export function percentDecoded(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
