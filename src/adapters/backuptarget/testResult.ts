import { type ConnectionFailure, codesOf, connectionFailure, listCauses } from '../../core/connectionFailure.ts'
import { inverted } from '../../core/inverted.ts'
import { ADDRESS_NOT_ALLOWED } from '../outgoing/vettedLookup.ts'
import type { TargetCode, TargetTestResult } from './port.ts'

const SENTENCES: Readonly<Record<TargetCode, string>> = {
  Ok: 'The bucket can be listed.',
  'invalid-target': 'The store does not accept the request: check the region, the path style and the bucket.',
  AuthenticationFailed: 'The store does not know the key, or the secret does not match it.',
  BucketMissing: 'The store has no such bucket.',
  AccessDenied: 'The key may not list the bucket.',
  TlsFailed: "The store's certificate is not signed by a trusted authority, or is not for its host.",
  Unreachable: 'The endpoint does not answer like S3.',
  Timeout: 'The store did not answer within 10 seconds.',
}

const NOT_ALLOWED: TargetTestResult = {
  code: 'invalid-target',
  message: 'The endpoint has a link-local or metadata address, which is never called.',
}

export function testResult(code: TargetCode, message = SENTENCES[code]): TargetTestResult {
  return { code, message }
}

/** Verdicts for connections that failed before any answer. */
const FAILURE_VERDICTS: Readonly<Record<ConnectionFailure, TargetTestResult>> = {
  Untrusted: testResult('TlsFailed'),
  NoTls: testResult('TlsFailed'),
  NoHttp: testResult('Unreachable'),
  HostNotFound: testResult('Unreachable', 'The name of the endpoint cannot be resolved.'),
  DnsUnavailable: testResult(
    'Unreachable',
    'The name of the endpoint cannot be resolved now: the name servers do not answer.',
  ),
  ConnectionRefused: testResult('Unreachable', 'Nothing listens at the endpoint: check the port.'),
  NoRoute: testResult('Unreachable', 'The host of the endpoint cannot be reached.'),
  ConnectionClosed: testResult('Unreachable', 'The endpoint closed the connection: check the port, and http or https.'),
  TimedOut: testResult('Timeout'),
}

/** Codes of S3 ("Error responses", list of error codes). */
const CODES_BY_NAME = inverted<TargetCode>({
  AuthenticationFailed: 'InvalidAccessKeyId SignatureDoesNotMatch InvalidToken ExpiredToken RequestTimeTooSkewed',
  BucketMissing: 'NoSuchBucket NotFound',
  AccessDenied: 'AccessDenied AllAccessDisabled',
})
const CODES_BY_STATUS: Readonly<Record<number, TargetCode>> = {
  301: 'invalid-target',
  307: 'invalid-target',
  400: 'invalid-target',
  401: 'AuthenticationFailed',
  403: 'AccessDenied',
  404: 'BucketMissing',
}

type S3Failure = { name?: unknown; $metadata?: { httpStatusCode?: number } }

/** Maps the error of a failed call to a verdict. */
export function testResultOf(error: unknown): TargetTestResult {
  if (codesOf(error).includes(ADDRESS_NOT_ALLOWED)) return NOT_ALLOWED
  const failure = connectionFailure(error)
  if (failure !== undefined) return FAILURE_VERDICTS[failure]
  if (listCauses(error).some(({ name }) => name === 'TimeoutError' || name === 'AbortError'))
    return testResult('Timeout')
  const { name, $metadata } = (error ?? {}) as S3Failure
  const named = typeof name === 'string' ? CODES_BY_NAME[name] : undefined
  return testResult(named ?? CODES_BY_STATUS[$metadata?.httpStatusCode ?? 0] ?? 'Unreachable')
}
