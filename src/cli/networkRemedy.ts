import { type ConnectionFailure, connectionFailure } from '../core/connectionFailure.ts'

const UNKNOWN_NAME = 'Its name is unknown: is the address right, and is this machine on the network?'
const UNREACHABLE = 'It cannot be reached from here: is a VPN or a proxy needed?'
const WRONG_PROTOCOL = 'It does not speak the protocol of the address: is it http or https?'

/** Remedies by kind of failure. */
const REMEDIES: Readonly<Record<ConnectionFailure, string>> = {
  Untrusted:
    'Its certificate is not trusted: `freehold setup` takes an authority with --certificate-authority, and that of the API server with --kubernetes-authority.',
  NoTls: WRONG_PROTOCOL,
  NoHttp: WRONG_PROTOCOL,
  HostNotFound: UNKNOWN_NAME,
  DnsUnavailable: UNKNOWN_NAME,
  ConnectionRefused: 'Nothing listens there: is the platform running, and is the address right?',
  NoRoute: UNREACHABLE,
  ConnectionClosed: 'The connection was closed before the answer: does that address speak TLS?',
  TimedOut: UNREACHABLE,
}

/** Suggests a remedy for an error of `fetch`; undefined for unknown errors. */
export function networkRemedy(error: unknown): string | undefined {
  const failure = connectionFailure(error)
  return failure && REMEDIES[failure]
}
