import { X509Certificate } from 'node:crypto'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { ConfigurationError } from '../../config.ts'
import { HUB_SERVER_NAME, JOIN_PATH, type JoinAnswer, RENEW_PATH } from '../../contracts/clusters.ts'
import { readWithin } from '../../core/readWithin.ts'
import { requestCertificate } from '../certificates.ts'
import type { Membership } from './membership.ts'

const TIMEOUT_MS = 15_000
const ANSWER_MAX_BYTES = 64 * 1024

/** The hub refused the request. */
export class HubRefusal extends Error {}

/** @throws HubRefusal for an invalid token; Error if the hub has another fingerprint, or is unreachable */
export async function joinHub(hub: string, token: string, fingerprint: string | undefined): Promise<Membership> {
  if (fingerprint === undefined)
    throw new ConfigurationError(
      'PLATFORM_AGENT_FINGERPRINT is missing: the token is sent only to the hub that it identifies.',
    )
  const authority = await fetchAuthority(hub, fingerprint)
  return requestMembership(hub, JOIN_PATH, { ca: authority }, { token })
}

/** @throws HubRefusal once the agent was revoked */
export async function renewMembership(hub: string, { certificate, key, authority }: Membership): Promise<Membership> {
  return requestMembership(hub, RENEW_PATH, { ca: authority, cert: certificate, key }, {})
}

async function requestMembership(hub: string, path: string, tls: RequestOptions, fields: object): Promise<Membership> {
  const { keyPem, requestPem } = await requestCertificate('freehold agent')
  const { status, text } = await post(hub, path, tls, JSON.stringify({ ...fields, request: requestPem }))
  const answer = JSON.parse(text) as JoinAnswer & { message?: string }
  if (status === 401 || status === 403) throw new HubRefusal(answer.message ?? 'The hub refuses.')
  if (status !== 200) throw new Error(`The hub answered ${status}: ${answer.message ?? ''}`)
  const { clusterId, certificate, authority } = answer
  return { clusterId, certificate, authority, key: keyPem }
}

/** Returns the authority of the hub's certificate if it has this fingerprint. Nothing is sent before. */
function fetchAuthority(hub: string, fingerprint: string): Promise<string> {
  const { hostname: host, port } = new URL(hub)
  return new Promise((resolve, reject) => {
    // Without verification by Node, because only the fingerprint is known; it is compared below.
    const options = { host, port: Number(port || 443), servername: HUB_SERVER_NAME, rejectUnauthorized: false }
    const socket = connectTls({ ...options, ALPNProtocols: ['http/1.1'] }, () => {
      const certificate = socket.getPeerCertificate(true)
      const issuer = certificate.issuerCertificate?.raw
      const authority = issuer && new X509Certificate(issuer)
      const isNamed = authority?.fingerprint256 === fingerprint
      const isSigned = authority !== undefined && new X509Certificate(certificate.raw).verify(authority.publicKey)
      socket.destroy()
      if (isNamed && isSigned) resolve(authority.toString())
      else reject(new Error(`The server at ${hub} does not have the given fingerprint.`))
    })
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('The hub did not answer in time.')))
    socket.once('error', reject)
  })
}

function post(hub: string, path: string, tls: RequestOptions, body: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(hub)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const options = { ...tls, hostname, port: port || 443, path, method: 'POST', servername: HUB_SERVER_NAME }
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const request = requestHttps({ ...options, headers, timeout: TIMEOUT_MS }, (answer) => {
    const tooLong = () => new Error('The answer of the hub is too long.')
    readWithin(ANSWER_MAX_BYTES, answer, tooLong).then(
      (bytes) => resolve({ status: answer.statusCode ?? 0, text: bytes.toString('utf8') }),
      reject,
    )
  })
  request.once('timeout', () => request.destroy(new Error('The hub did not answer in time.')))
  request.once('error', reject)
  request.end(body)
  return promise
}
