import { Resolver } from 'node:dns/promises'
import type { DnsPort } from './port.ts'

const TIMEOUT = 5_000

/** The resolvers of this machine. Whoever does not answer says nothing: it is asked again later. */
export function createDns(resolver = new Resolver({ timeout: TIMEOUT, tries: 1 })): DnsPort {
  return {
    async texts(name) {
      try {
        // A text longer than 255 bytes comes in pieces (RFC 1035 section 3.3.14).
        return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
      } catch {
        return []
      }
    },
  }
}
