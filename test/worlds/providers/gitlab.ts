import { type Asked, pageOf, type Said, type StandIn } from './standIn.ts'

type DeployToken = { id: number; name: string; expires_at: string }
type Hook = { id: number; url: string; token: string; alert_status: string }

/** GitLab, simulated according to its public REST documentation (docs.gitlab.com/api): one token, some projects. */
export class PlayedGitLab implements StandIn {
  readonly token: string
  readonly hooks: Hook[] = []
  deployTokens: DeployToken[] = []
  /** Whether it answers requests about existing tokens. */
  tellsTokens = true
  readonly #projects: object[]

  constructor(token: string, count = 120) {
    this.token = token
    this.#projects = Array.from({ length: count }, (_, index) => projectOf(index + 1))
  }

  answer({ method, path, query, authorization, body }: Asked): Said {
    if (authorization !== `Bearer ${this.token}`) return { status: 401, body: { message: '401 Unauthorized' } }
    if (path === '/api/v4/user') return { status: 200, body: { username: 'ada', avatar_url: null } }
    if (path === '/api/v4/projects') {
      const words = query.get('search') ?? ''
      const found = this.#projects.filter((one) => (one as { path: string }).path.includes(words))
      return { status: 200, body: pageOf(found, query, 'per_page') }
    }
    const [, id = '', rest = ''] = /^\/api\/v4\/projects\/(\d+)(\/.*)?$/.exec(path) ?? []
    const project = this.#projects[Number(id) - 1]
    if (project === undefined) return { status: 404, body: { message: '404 Project Not Found' } }
    if (rest === '') return { status: 200, body: project }
    if (rest === '/deploy_tokens' && method === 'POST') {
      const { name, expires_at } = body as { name: string; expires_at: string }
      const made = { id: 1 + Math.max(0, ...this.deployTokens.map((one) => one.id)), name, expires_at }
      this.deployTokens.push(made)
      return { status: 201, body: { ...made, username: `gitlab+deploy-token-${id}`, token: `gldt-${id}` } }
    }
    if (rest.startsWith('/deploy_tokens') && !this.tellsTokens) return { status: 403 }
    if (rest === '/deploy_tokens') return { status: 200, body: pageOf(this.deployTokens, query, 'per_page') }
    if (rest.startsWith('/deploy_tokens/') && method === 'DELETE') {
      this.deployTokens = this.deployTokens.filter((one) => rest !== `/deploy_tokens/${one.id}`)
      return { status: 204 }
    }
    if (rest === '/hooks' && method === 'GET') return { status: 200, body: pageOf(this.hooks, query, 'per_page') }
    if (rest === '/hooks') {
      const { url, token } = body as { url: string; token: string }
      const hook = { id: this.hooks.length + 1, url, token, alert_status: 'executable' }
      this.hooks.push(hook)
      return { status: 201, body: hook }
    }
    const hook = this.hooks.find((one) => rest === `/hooks/${one.id}`)
    if (hook === undefined || method !== 'PUT') return { status: 404 }
    Object.assign(hook, { token: body.token, alert_status: 'executable' })
    return { status: 200, body: hook }
  }
}

function projectOf(id: number): object {
  const path = id === 1 ? 'site' : `project-${id}`
  return {
    id,
    path,
    path_with_namespace: `acme/${path}`,
    namespace: { full_path: 'acme' },
    web_url: `https://gitlab.test/acme/${path}`,
    http_url_to_repo: `https://gitlab.test/acme/${path}.git`,
    default_branch: 'main',
    visibility: 'private',
    archived: false,
    description: '',
    last_activity_at: '2026-01-01T00:00:00Z',
  }
}
