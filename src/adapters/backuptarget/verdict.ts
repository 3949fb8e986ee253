import { ADDRESS_NOT_ALLOWED } from '../outgoing/vettedLookup.ts'
import type { TargetCode, TargetVerdict } from './port.ts'

const SENTENCES: Readonly<Record<TargetCode, string>> = {
  Ok: 'The bucket can be listed.',
  'invalid-target': 'The store does not take such a request: look at the region, the path style and the bucket.',
  AuthenticationFailed: 'The store does not know the key, or the secret is not that of the key.',
  BucketMissing: 'The store has no such bucket.',
  AccessDenied: 'The key may not list the bucket.',
  TlsFailed: "The store's certificate is not signed by an authority that is trusted here, or not for its host.",
  Unreachable: 'The store does not answer as S3 does.',
  Timeout: 'The store did not answer within 10 seconds.',
}

const NOT_ALLOWED: TargetVerdict = {
  code: 'invalid-target',
  message: 'The endpoint has a link-local or metadata address, which is never called.',
}

export function verdict(code: TargetCode, message = SENTENCES[code]): TargetVerdict {
  return { code, message }
}

/** Of the connection, by its code: nothing has answered, so nothing is said of how. */
const UNREACHED: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name of the endpoint cannot be resolved.',
  EAI_AGAIN: 'The name of the endpoint cannot be resolved now: the name servers do not answer.',
  ECONNREFUSED: 'Nothing listens at the endpoint: look at the port.',
  ECONNRESET: 'The endpoint ended the connection: look at the port, and at http or https.',
  EHOSTUNREACH: 'There is no way to the host of the endpoint.',
  ENETUNREACH: 'There is no way to the network of the endpoint.',
}

/** Codes of S3 ("Error responses", list of error codes). */
const BY_NAME: Readonly<Record<string, TargetCode>> = {
  InvalidAccessKeyId: 'AuthenticationFailed',
  SignatureDoesNotMatch: 'AuthenticationFailed',
  InvalidToken: 'AuthenticationFailed',
  ExpiredToken: 'AuthenticationFailed',
  RequestTimeTooSkewed: 'AuthenticationFailed',
  NoSuchBucket: 'BucketMissing',
  NotFound: 'BucketMissing',
  AccessDenied: 'AccessDenied',
  AllAccessDisabled: 'AccessDenied',
}
const BY_STATUS: Readonly<Record<number, TargetCode>> = {
  301: 'invalid-target',
  307: 'invalid-target',
  400: 'invalid-target',
  401: 'AuthenticationFailed',
  403: 'AccessDenied',
  404: 'BucketMissing',
}

/** Of OpenSSL through Node (tls, "X509 certificate error codes"). */
const TLS =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|INVALID_CA$|INVALID_PURPOSE$|HOSTNAME_MISMATCH$|EPROTO$)/

type Failure = { name?: unknown; code?: unknown; cause?: unknown; $metadata?: { httpStatusCode?: number } }

/** What a call that failed says of the target. */
export function verdictOf(error: unknown): TargetVerdict {
  const chain: Failure[] = []
  for (let next = error as Failure | undefined; typeof next === 'object' && next !== null && chain.length < 8; ) {
    chain.push(next)
    next = next.cause as Failure | undefined
  }
  const codes = chain.flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  if (codes.includes(ADDRESS_NOT_ALLOWED)) return NOT_ALLOWED
  if (codes.some((code) => TLS.test(code))) return verdict('TlsFailed')
  if (chain.some(({ name }) => name === 'TimeoutError' || name === 'AbortError')) return verdict('Timeout')
  if (codes.includes('ETIMEDOUT')) return verdict('Timeout')
  const [unreached] = codes.flatMap((code) => UNREACHED[code] ?? [])
  if (unreached !== undefined) return verdict('Unreachable', unreached)
  const { name, $metadata } = chain[0] ?? {}
  const named = typeof name === 'string' ? BY_NAME[name] : undefined
  return verdict(named ?? BY_STATUS[$metadata?.httpStatusCode ?? 0] ?? 'Unreachable')
}
