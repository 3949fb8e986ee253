import type { RequestListener } from 'node:http'

/** The absolute form `http://host/path`, which clients send to a proxy (RFC 9112 section 3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)/is
/** A name, an IPv4 address or an IPv6 address in brackets, with an optional port. Never `user@`, which misleads. */
const AUTHORITY = /^(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{0,5})?$/i

/**
 * Reduces the target of each request to its path and query before anything reads it. Its host replaces the Host header,
 * as the standard requires, so that two readers cannot see two hosts. The path stays as written. An unreadable target
 * is left unchanged: it is not a path, so no route matches it.
 */
export function inOriginForm(listener: RequestListener): RequestListener {
  return (request, response) => {
    const { url = '', headers } = request
    const [, authority = '', rest = ''] = ABSOLUTE.exec(url) ?? []
    if (AUTHORITY.test(authority)) {
      request.url = rest.startsWith('/') ? rest : `/${rest}`
      if (headers.host !== undefined) headers.host = authority
    }
    listener(request, response)
  }
}
