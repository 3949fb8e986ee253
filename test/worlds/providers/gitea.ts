import { randomBytes } from 'node:crypto'
import { type Asked, pageOf, type Said, type StandIn } from './standIn.ts'

type Hook = { id: number; active: boolean; events: string[]; config: Record<string, string> }
type Repository = { id: number; owner: string; name: string; hooks: Hook[] }

/**
 * Gitea, simulated according to its interface description, for tests that only need some Git host.
 * `sources-gitea.test.ts` runs the real one.
 */
export class PlayedGitea implements StandIn {
  readonly adminToken = randomBytes(20).toString('hex')
  readonly #passwords = new Map<string, string>()
  /** Names of accounts by their token. */
  readonly #tokens = new Map<string, string>()
  readonly repositories: Repository[] = []
  /** The page size, whatever the request asks for: MAX_RESPONSE_ITEMS of its settings. */
  pageMost = 50

  /** A separate account with repositories. */
  account(name: string, repositories = ['site']): string {
    const token = randomBytes(20).toString('hex')
    this.#tokens.set(token, name)
    for (const repository of repositories) this.#make(name, repository)
    return token
  }

  answer(asked: Asked): Said {
    const { path, authorization } = asked
    const below = path.replace(/^\/api\/v1/, '')
    if (authorization === `token ${this.adminToken}`) return this.#asAdministrator(asked, below)
    if (below.startsWith('/users/')) return this.#tokensOf(asked, below)
    const name = this.#tokens.get(authorization.replace(/^token /, ''))
    return name === undefined ? { status: 401 } : this.#as(name, asked, below)
  }

  #asAdministrator({ method, body }: Asked, path: string): Said {
    const name = path.split('/')[3] ?? String(body.username)
    if (method === 'POST' && this.#passwords.has(name)) return { status: 422 }
    if (method === 'DELETE') return { status: this.#passwords.delete(name) ? 204 : 404 }
    this.#passwords.set(name, String(body.password))
    return { status: method === 'POST' ? 201 : 200, body: { login: name } }
  }

  #tokensOf({ method, authorization }: Asked, path: string): Said {
    const name = path.split('/')[2] ?? ''
    const basic = `Basic ${Buffer.from(`${name}:${this.#passwords.get(name)}`).toString('base64')}`
    if (authorization !== basic) return { status: 401 }
    const own = [...this.#tokens.entries()].filter(([, owner]) => owner === name).map(([token]) => token)
    if (method === 'GET')
      return { status: 200, body: own.map((token) => ({ id: idOf(token), token_last_eight: token.slice(-8) })) }
    if (method === 'DELETE') {
      const wanted = own.find((token) => path.endsWith(`/${idOf(token)}`)) ?? ''
      return { status: this.#tokens.delete(wanted) ? 204 : 404 }
    }
    const sha1 = randomBytes(20).toString('hex')
    this.#tokens.set(sha1, name)
    return { status: 201, body: { sha1 } }
  }

  #as(name: string, { method, query, body }: Asked, path: string): Said {
    const own = this.repositories.filter(({ owner }) => owner === name)
    if (path === '/user') return { status: 200, body: { login: name } }
    if (path === '/user/repos' && method === 'GET') return { status: 200, body: this.#page(own.map(shown), query) }
    if (path === '/user/repos') {
      if (own.some((one) => one.name === body.name)) return { status: 409 }
      return { status: 201, body: shown(this.#make(name, String(body.name))) }
    }
    const found = own.find(
      (one) => path === `/repositories/${one.id}` || path.startsWith(`/repos/${one.owner}/${one.name}/hooks`),
    )
    if (found === undefined) return { status: 404 }
    if (path.startsWith('/repositories/')) return { status: 200, body: shown(found) }
    if (method === 'GET') return { status: 200, body: this.#page(found.hooks, query) }
    const hook = found.hooks.find(({ id }) => path.endsWith(`/${id}`))
    if (method === 'PATCH' && hook !== undefined) return { status: 200, body: Object.assign(hook, body) }
    const made = { ...(body as Omit<Hook, 'id'>), id: found.hooks.length + 1 }
    found.hooks.push(made)
    return { status: 201, body: made }
  }

  #page<Item>(items: readonly Item[], query: URLSearchParams): Item[] {
    const limit = Math.min(Number(query.get('limit') ?? 30), this.pageMost)
    return pageOf(items, new URLSearchParams({ page: query.get('page') ?? '1', limit: String(limit) }), 'limit')
  }

  #make(owner: string, name: string): Repository {
    const made = { id: this.repositories.length + 1, owner, name, hooks: [] }
    this.repositories.push(made)
    return made
  }
}

const idOf = (token: string) => Number.parseInt(token.slice(0, 8), 16)

function shown({ id, owner, name }: Repository): object {
  const url = `https://gitea.test/${owner}/${name}`
  return {
    id,
    name,
    full_name: `${owner}/${name}`,
    owner: { login: owner },
    html_url: url,
    clone_url: `${url}.git`,
    default_branch: 'main',
    private: true,
    size: 1,
    permissions: { push: true },
  }
}
