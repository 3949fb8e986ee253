import type { Asked, Said, StandIn } from './standIn.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`

/**
 * A registry with token authentication, simulated according to the OCI distribution specification: one image, one
 * account.
 */
export class PlayedRegistry implements StandIn {
  readonly #basic: string
  readonly #realm: string
  /** Every credential that it received. */
  readonly seen: string[] = []

  constructor(username: string, password: string, realm: string) {
    this.#basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    this.#realm = realm
  }

  answer({ path, query, authorization }: Asked): Said {
    if (authorization !== '') this.seen.push(authorization)
    if (path === '/token') {
      if (authorization !== this.#basic) return { status: 401 }
      return { status: 200, body: { token: `for ${query.get('scope') ?? 'nothing'}` } }
    }
    if (!authorization.startsWith('Bearer for ')) {
      const challenge = `Bearer realm="${this.#realm}/token",service="registry"`
      return { status: 401, headers: { 'www-authenticate': challenge } }
    }
    if (path === '/v2/') return { status: 200, body: {} }
    const isThere = path === '/v2/team/app/manifests/latest' && authorization === 'Bearer for repository:team/app:pull'
    return isThere ? { status: 200, headers: { 'docker-content-digest': DIGEST }, body: {} } : { status: 404 }
  }
}
