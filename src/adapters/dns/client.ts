import { Resolver } from 'node:dns/promises'
import type { DnsPort } from './port.ts'

const TIMEOUT = 5_000

/** Uses the resolvers of this machine. Failures count as no answer: the caller asks again later. */
export function createDns(): DnsPort {
  const resolver = new Resolver({ timeout: TIMEOUT, tries: 1 })
  return {
    async texts(name) {
      try {
        // A TXT value longer than 255 bytes comes in pieces (RFC 1035 section 3.3.14).
        return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
      } catch {
        return []
      }
    },
  }
}
