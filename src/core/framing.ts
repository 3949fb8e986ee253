import type { IncomingMessage } from 'node:http'

type Head = { readonly rawHeaders: readonly string[]; readonly httpVersion: string }

/**
 * Returns why a request is ambiguous, to be refused before its content is read; undefined if it is not. Node accepts
 * requests that two readers may parse differently: it takes the first of several Host headers, where a proxy may take
 * the last; only HTTP/1.0 may omit Host (RFC 9112 3.2). It decodes no coding but chunked, and passes others on (6.1).
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
 * Returns the headers that frame a body, for forwarding a request over HTTP/1.1. Without them Node sends a DELETE, GET
 * or OPTIONS as if it had no body, and the next server reads the body as another request.
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
