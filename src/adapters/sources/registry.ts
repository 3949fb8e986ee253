import { MANIFEST_TYPES } from '../../contracts/registry/names.ts'
import { isBearerChallenge, parseTokenUrl, TokenAnswer } from '../../contracts/registry/tokens.ts'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { basicAuthHeader, fetchFromProvider, sendToProvider } from './calls.ts'
import { type Connection, type RegistryVerdict, SourceError } from './port.ts'

/**
 * Checks credentials and image against a registry in the same way as a pull (OCI distribution specification; token
 * authentication of the distribution project).
 *
 * @throws SourceError NotAllowed
 */
export async function verifyRegistry(
  fetch: OutgoingFetch,
  connection: Connection,
  { repository, tag = 'latest' }: { repository?: string | undefined; tag?: string | undefined },
  signal?: AbortSignal,
): Promise<RegistryVerdict> {
  const base = connection.baseUrl.replace(/\/+$/, '')
  const verdict = { isReachable: false, isAuthenticated: false, canPull: false, digest: null, message: null }
  try {
    const first = await sendToProvider(fetch, `${base}/v2/`, { signal })
    if (first.status !== 200 && first.status !== 401)
      return { ...verdict, message: `The address answers with status ${first.status}, so it is not a registry.` }
    const authorization = await authorizationFor(fetch, connection, first, repository, signal)
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const second = await sendToProvider(fetch, `${base}/v2/`, { headers, signal })
    const isAuthenticated = second.status === 200
    if (!isAuthenticated && !isRefusal(second)) return { ...verdict, message: statusMessage(second) }
    if (!isAuthenticated) return { ...verdict, isReachable: true, message: 'The registry refuses the credentials.' }
    if (repository === undefined) return { ...verdict, isReachable: true, isAuthenticated, canPull: true }
    const url = `${base}/v2/${repository}/manifests/${tag}`
    const answer = await sendToProvider(fetch, url, { headers: { ...headers, accept: MANIFEST_TYPES }, signal })
    const canPull = answer.status === 200
    const isNone = answer.status === 404 || isRefusal(answer)
    const none = isNone ? `The registry has no ${repository}:${tag} for these credentials.` : statusMessage(answer)
    const message = canPull ? null : none
    const digest = answer.headers.get('docker-content-digest')
    return { isReachable: true, isAuthenticated, canPull, digest: canPull ? digest : null, message }
  } catch (error) {
    if (!(error instanceof SourceError) || error.reason === 'NotAllowed') throw error
    const isReachable = error.reason === 'CredentialRejected'
    return { ...verdict, isReachable, message: error.message }
  }
}

const isRefusal = ({ status }: Response) => status === 401 || status === 403
const statusMessage = ({ status }: Response) => `The registry answers with status ${status}.`

/** Returns undefined if the registry requires no authentication. @throws SourceError */
async function authorizationFor(
  fetch: OutgoingFetch,
  { username = '', credentials }: Connection,
  first: Response,
  repository: string | undefined,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (first.status === 200) return undefined
  const challenge = first.headers.get('www-authenticate') ?? ''
  const password = credentials[CREDENTIAL_KEYS.password] ?? ''
  const account = basicAuthHeader(username, password)
  if (!isBearerChallenge(challenge)) return account
  const place = parseTokenUrl(challenge, repository)
  if (place === undefined) throw new SourceError('Unreachable', 'The registry names no address to get a token from.')
  const headers: Record<string, string> = password === '' ? {} : { authorization: account }
  return fetchFromProvider(fetch, place, TokenAnswer, { headers, signal })
}
