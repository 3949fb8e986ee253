import { codesOf } from '../core/connectionFailure.ts'

/** What is wrong where no answer came, by the code of the error: what a person can do about it. */
const REMEDIES: readonly [code: RegExp, remedy: string][] = [
  [/^ECONNREFUSED$/, 'Nothing listens there: is the platform running, and is the address right?'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'Its name is not known: is the address right, and is this machine on the network?'],
  [/TIMEOUT|^ETIMEDOUT$|^EHOSTUNREACH$|^ENETUNREACH$/, 'It cannot be reached from here: is a VPN or a proxy needed?'],
  [
    /CERT|SIGNATURE|ALTNAME/,
    'Its certificate is not trusted: `freehold setup` takes an authority with --certificate-authority, and that of the API server with --kubernetes-authority.',
  ],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'The connection was closed before the answer: does that address speak TLS?'],
  [/SSL|TLS|^EPROTO$|^HPE_/, 'It does not speak the protocol of the address: is it http or https?'],
]

/** The sentence for an error of `fetch`; undefined for one that nobody thought of. */
export function networkRemedy(error: unknown): string | undefined {
  const codes = codesOf(error)
  return REMEDIES.find(([pattern]) => codes.some((code) => pattern.test(code)))?.[1]
}
