/** Why a request got no response. */
export type ConnectionFailure =
  | 'Untrusted'
  | 'NoTls'
  | 'NoHttp'
  | 'HostNotFound'
  | 'DnsUnavailable'
  | 'ConnectionRefused'
  | 'NoRoute'
  | 'ConnectionClosed'
  | 'TimedOut'

/** Codes of the network (errno), of TLS in Node ("X509 certificate error codes", OpenSSL), of llhttp and of undici. */
const FAILURES: readonly [codes: RegExp, failure: ConnectionFailure][] = [
  [/^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA$|INVALID_PURPOSE$|HOSTNAME_MISMATCH$)/, 'Untrusted'],
  [/^ERR_TLS_CERT_/, 'Untrusted'],
  [/^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$)/, 'NoTls'],
  [/^HPE_/, 'NoHttp'],
  [/^ENOTFOUND$/, 'HostNotFound'],
  [/^EAI_AGAIN$/, 'DnsUnavailable'],
  [/^ECONNREFUSED$/, 'ConnectionRefused'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'NoRoute'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'ConnectionClosed'],
  [/^ETIMEDOUT$|_TIMEOUT$/, 'TimedOut'],
]

/** Classifies an error by its own code, those of its causes, and those of the attempts at each address of a name. */
export function connectionFailure(error: unknown): ConnectionFailure | undefined {
  const codes = codesOf(error)
  return FAILURES.find(([pattern]) => codes.some((code) => pattern.test(code)))?.[1]
}

export function codesOf(error: unknown): string[] {
  return listCauses(error).flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
}

/** Causes may be cyclic. */
const DEPTH_MAX = 8

type ErrorLike = { name?: unknown; code?: unknown; cause?: unknown; errors?: unknown }

/** Returns the error, its causes, and the errors of the attempts at each address of a name. */
export function listCauses(error: unknown, depth = 0): ErrorLike[] {
  if (typeof error !== 'object' || error === null || depth === DEPTH_MAX) return []
  const { cause, errors }: ErrorLike = error
  const inner = Array.isArray(errors) ? errors : []
  return [error, ...[cause, ...inner].flatMap((next) => listCauses(next, depth + 1))]
}
