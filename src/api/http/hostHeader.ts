import type { IncomingMessage } from 'node:http'
import { PlatformError } from '../../core/errors.ts'

/**
 * Node takes the first of several, and a proxy before us may take the last; none is for HTTP/1.0 alone (RFC 9112 3.2).
 *
 * @throws PlatformError BAD_REQUEST
 */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) throw new PlatformError('BAD_REQUEST', 'The request has more than one Host header.')
  if (hosts === 0 && httpVersion !== '1.0') throw new PlatformError('BAD_REQUEST', 'The request has no Host header.')
}
