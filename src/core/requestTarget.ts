import type { RequestListener } from 'node:http'

/** `http://host/path`, as a client writes it that takes us for a proxy (RFC 9112 section 3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is
/** A name, an address, or an address of IPv6 in brackets, perhaps with a port. Never `user@`: that is how links mislead. */
const AUTHORITY = /^(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{0,5})?$/i

/**
 * Makes the target of each request the path and the query that it names, before anybody reads it. Its host counts instead
 * of the Host header, as the standard has it: the two must not lead two readers to two places. The path stays as it was
 * written. An unreadable target is left unchanged: it is not a path, so no route matches it.
 */
export function inOriginForm(listener: RequestListener): RequestListener {
  return (request, response) => {
    const { url = '', headers } = request
    const [, authority = '', rest = ''] = (url.startsWith('/') ? null : ABSOLUTE.exec(url)) ?? []
    if (AUTHORITY.test(authority)) {
      request.url = rest.startsWith('/') ? rest : `/${rest}`
      if (headers.host !== undefined) headers.host = authority
    }
    listener(request, response)
  }
}
