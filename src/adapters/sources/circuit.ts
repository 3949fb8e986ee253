import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { parseForeignJson } from '../../core/tryParseJson.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { assertSuccess, basicAuthHeader, fetchFromProvider, sendToProvider } from './calls.ts'
import { type CircuitPort, SourceError } from './port.ts'

const TOKEN_NAME = 'freehold'
const Tokens = z.array(z.object({ id: z.int(), token_last_eight: z.string().length(8) }))
const NewToken = z.object({ sha1: z.string().min(1) })
const SCOPES = ['write:repository', 'write:user']

/**
 * Manages accounts in the platform's own Gitea, as its administrator.
 *
 * @param adminToken reads the token; undefined while there is none
 */
export function giteaCircuit(
  fetch: OutgoingFetch,
  baseUrl: string | undefined,
  adminToken: () => Promise<string | undefined>,
): CircuitPort {
  const base = baseUrl?.replace(/\/+$/, '')
  async function call(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Response> {
    const token = base === undefined ? undefined : await adminToken()
    if (token === undefined) throw new SourceError('Unreachable', 'The Git host of the platform is not set up.')
    const headers = { authorization: `token ${token}` }
    return sendToProvider(fetch, `${base}/api/v1${path}`, { method, body, headers })
  }
  const host = () => new URL(base ?? '').host

  return {
    baseUrl: base,
    async openAccount(name, current) {
      // Gitea creates tokens only with the user's password, so a random one is set and not kept.
      const password = randomBytes(24).toString('base64url')
      const email = `${name}@circuit.invalid`
      const account = { username: name, email, password, must_change_password: false, visibility: 'private' }
      const made = await call('POST', '/admin/users', account)
      if (made.status === 422) {
        const change = { source_id: 0, login_name: name, password, must_change_password: false }
        assertSuccess(await call('PATCH', `/admin/users/${name}`, change), host())
      } else assertSuccess(made, host())
      const headers = { authorization: basicAuthHeader(name, password) }
      const tokens = `${base}/api/v1/users/${name}/tokens`
      for (const { id, token_last_eight: end } of await fetchFromProvider(fetch, tokens, Tokens, { headers })) {
        if (current?.endsWith(end) === true) continue
        const removed = await sendToProvider(fetch, `${tokens}/${id}`, { method: 'DELETE', headers })
        if (!(await isMissing(removed))) assertSuccess(removed, host())
      }
      const body = { name: `${TOKEN_NAME}-${randomBytes(8).toString('hex')}`, scopes: SCOPES }
      const { sha1 } = await fetchFromProvider(fetch, tokens, NewToken, { method: 'POST', body, headers })
      return { token: sha1 }
    },
    async removeAccount(name) {
      const answer = await call('DELETE', `/admin/users/${name}?purge=true`)
      if (!(await isMissing(answer))) assertSuccess(answer, host())
    },
  }
}

/** Whether the Git host says that something is missing. A load balancer before it answers 404 with pages of its own. */
async function isMissing(answer: Response): Promise<boolean> {
  return answer.status === 404 && parseForeignJson(await answer.text()) !== undefined
}
