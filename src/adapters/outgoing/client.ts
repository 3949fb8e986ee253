import { lookup as resolve } from 'node:dns'
import { Agent, type buildConnector, fetch as send } from 'undici'
import { connectorTrusting, withDefaultAuthorities } from '../../core/authorities.ts'
import { type ConnectionFailure, codesOf, connectionFailure } from '../../core/connectionFailure.ts'
import { isPublicAddress, vetOutgoingUrl } from '../../core/outgoingUrl.ts'
import { readBeginning, readWithin } from '../../core/readWithin.ts'
import { OutgoingError, type OutgoingPort, type OutgoingRequest } from './port.ts'
import { ADDRESS_NOT_ALLOWED, vettedLookup } from './vettedLookup.ts'

export type OutgoingOptions = {
  /** Hosts that may have any address, in the form of URLs: with the port if it is not 443. */
  allowedHosts?: readonly string[]
  /** Returns PEM, in addition to the authorities that Node trusts. */
  certificateAuthority?: () => string
  /** Milliseconds for the whole call; 10,000. */
  timeout?: number
  /** Maximum size of an answer in bytes; 256 KiB. */
  maxBytes?: number
  lookup?: typeof resolve
}

const MAX_REDIRECTS = 3
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/** Makes calls over TLS only. Addresses are vetted again when the connection is made. */
export function createOutgoing(options: OutgoingOptions = {}): OutgoingPort & { close(): Promise<void> } {
  const { allowedHosts = [], certificateAuthority, timeout = 10_000, maxBytes = 256 * 1024 } = options
  const common = { headersTimeout: timeout, bodyTimeout: timeout, maxHeaderSize: 16_384 }
  const connectorTo = (known: buildConnector.BuildOptions) =>
    connectorTrusting(certificateAuthority, known, withDefaultAuthorities)
  const lookup = vettedLookup(options.lookup ?? resolve, isPublicAddress)
  const vetted = new Agent({ ...common, connect: connectorTo({ timeout, lookup }) })
  const listed = new Agent({ ...common, connect: connectorTo({ timeout }) })

  async function call(address: string, request: OutgoingRequest = {}): Promise<Response> {
    const deadline = AbortSignal.timeout(timeout)
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal])
    const method = request.method ?? 'GET'
    let headers = request.headers ?? {}
    let url = vet(address)
    for (let redirects = 0; ; redirects += 1) {
      const answer = await ask(url, { ...request, method, headers, signal })
      const location = answer.headers.get('location')
      if (!REDIRECT_STATUSES.has(answer.status) || location === null || method !== 'GET') return answer
      if (redirects === MAX_REDIRECTS) throw new OutgoingError('Unreachable', `${url.host} redirects too often.`)
      const next = URL.parse(location, url.href)
      if (next === null) throw new OutgoingError('Unreachable', `${url.host} redirects to an invalid address.`)
      // Never sends credentials to another host.
      if (next.host !== url.host) headers = withoutCredentials(headers)
      url = vet(next.href)
    }
  }

  function vet(address: string): URL {
    const verdict = vetOutgoingUrl(address, allowedHosts)
    if (!verdict.isAllowed) throw new OutgoingError('NotAllowed', `The address is not allowed: ${verdict.why}.`)
    return verdict.url
  }

  async function ask(
    url: URL,
    { method, headers, body, isBinary = false, beginning, signal }: OutgoingRequest & { signal: AbortSignal },
  ): Promise<Response> {
    const dispatcher = allowedHosts.includes(url.host) ? listed : vetted
    try {
      const answer = await send(url, {
        method: method ?? 'GET',
        headers: headers ?? {},
        ...(body === undefined ? {} : { body }),
        redirect: 'manual',
        signal,
        dispatcher,
      })
      return await responseOf(answer, { maxBytes, host: url.host, isBinary, beginning })
    } catch (error) {
      throw outgoingError(error, url.host)
    }
  }

  return {
    fetch: call,
    async document(url, signal) {
      const answer = await call(url, { headers: { accept: 'application/json, application/xml, text/xml' }, signal })
      if (answer.status !== 200) {
        throw new OutgoingError('Unreachable', `${new URL(url).host} answers with status ${answer.status}.`)
      }
      return answer.text()
    },
    async close() {
      await Promise.all([vetted.destroy(), listed.destroy()])
    },
  }
}

/** Headers that the protocols on top of this need. */
const KEPT_HEADERS = [
  'content-type',
  'location',
  'www-authenticate',
  'docker-content-digest',
  'retry-after',
  'x-ratelimit-remaining',
]

type Read = { maxBytes: number; host: string; isBinary: boolean; beginning: number | undefined }

/** Keeps of the answer the status, the body and a few headers. */
async function responseOf(answer: Awaited<ReturnType<typeof send>>, read: Read): Promise<Response> {
  const bytes = await readAll(answer.body as AsyncIterable<Uint8Array> | null, read)
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  const body = read.isBinary ? Uint8Array.from(bytes) : bytes.toString('utf8')
  return new Response(answer.status === 204 || answer.status === 304 ? null : body, {
    status: answer.status,
    headers,
  })
}

function outgoingError(error: unknown, host: string): OutgoingError {
  if (error instanceof OutgoingError) return error
  if (codesOf(error).includes(ADDRESS_NOT_ALLOWED)) {
    const why = `${host} has an address that is not public`
    return new OutgoingError('NotAllowed', `The address is not allowed: ${why}.`, error)
  }
  const why = FAILURE_REASONS[connectionFailure(error) ?? 'TimedOut']
  return new OutgoingError('Unreachable', `${host} ${why}.`, error)
}

/** Reasons for the message. A call that hits the deadline has no code. */
const FAILURE_REASONS: Readonly<Record<ConnectionFailure, string>> = {
  Untrusted: 'shows a certificate that is not valid for it, or not signed by an authority that the platform trusts',
  NoTls: 'does not speak TLS',
  NoHttp: 'does not answer as HTTP',
  HostNotFound: 'is a name that cannot be resolved',
  DnsUnavailable: 'is a name that cannot be resolved now, as the name servers do not answer',
  ConnectionRefused: 'does not listen on that port',
  NoRoute: 'cannot be reached from here',
  ConnectionClosed: 'closed the connection before it answered',
  TimedOut: 'does not answer over TLS in time',
}

async function readAll(body: AsyncIterable<Uint8Array> | null, { maxBytes, host, beginning }: Read): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0)
  if (beginning !== undefined) return readBeginning(beginning, body)
  const tooLong = () => new OutgoingError('Unreachable', `${host} answers with more than ${maxBytes} bytes.`)
  return readWithin(maxBytes, body, tooLong)
}

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  const secret = new Set(['authorization', 'cookie', 'proxy-authorization'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !secret.has(name.toLowerCase())))
}
