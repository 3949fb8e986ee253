import type { IncomingMessage } from 'node:http'

/** Requests that Node accepts although two readers may parse them differently. */
type Head = { readonly rawHeaders: readonly string[]; readonly httpVersion: string }

/**
 * Why a request is refused before anybody looks at what it asks; undefined if it is not. Node takes the first of several
 * Host headers, and a proxy before us may take the last; none is for HTTP/1.0 alone (RFC 9112 3.2). It reads no other
 * coding than chunked, and passes the rest on as it came (6.1).
 */
export function ambiguityOf({ rawHeaders, httpVersion }: Head): string | undefined {
  const valuesOf = (wanted: string) =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted)
  const hosts = valuesOf('host').length
  if (!['1.0', '1.1'].includes(httpVersion)) return `HTTP/${httpVersion} is not supported: use HTTP/1.1.`
  if (hosts > 1) return 'The request has more than one Host header.'
  if (hosts === 0 && httpVersion !== '1.0') return 'The request has no Host header.'
  const codings = valuesOf('transfer-encoding')
  if (codings.some((coding) => coding.trim().toLowerCase() !== 'chunked') || codings.length > 1)
    return 'The only supported transfer coding is chunked.'
  return undefined
}

/**
 * How long a body is, for whoever sends the request on over HTTP/1.1: Node sends a DELETE, a GET or OPTIONS without it as
 * if they had none, and the bytes behind as what the next reader takes for another request.
 */
export function framingOf(headers: {
  readonly 'content-length'?: string | undefined
  readonly 'transfer-encoding'?: string | undefined
}): { 'content-length'?: string; 'transfer-encoding'?: string } {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  if (coding !== undefined) return { 'transfer-encoding': 'chunked' }
  return length === undefined ? {} : { 'content-length': length }
}

/** Whether a request announces a body (RFC 9112 section 6). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}
