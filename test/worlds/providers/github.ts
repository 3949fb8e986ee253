import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { jwtVerify } from 'jose'
import { type Asked, pageOf, type Said, type StandIn } from './standIn.ts'

const APP_ID = 77
/** The one installation of the App. */
export const INSTALLATION = '4711'
export const GITHUB_CODE = 'code-of-the-manifest'
export const NEXT_GITHUB_CODE = 'code-of-the-next-manifest'
const INSTALLATION_TOKEN = 'ghs_installation'

/**
 * GitHub, simulated according to its public REST documentation (docs.github.com): one App that is created from a
 * manifest once, with one installation. Tokens of the App are verified with its public key, as GitHub does.
 */
export class PlayedGitHub implements StandIn {
  readonly pem: string
  readonly hook = { url: '', secret: '' }
  /** The last requested installation token. */
  asked: Record<string, unknown> = {}
  isSuspended = false
  now = () => new Date()
  readonly #repositories: { id: number }[]
  readonly #codes = new Set([GITHUB_CODE, NEXT_GITHUB_CODE])

  constructor(count = 130) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    this.#repositories = Array.from({ length: count }, (_, index) => repositoryOf(index + 1))
  }

  async answer({ method, path, query, authorization, body }: Asked): Promise<Said> {
    const below = path.replace(/^\/api\/v3/, '')
    const code = /^\/app-manifests\/([^/]+)\/conversions$/.exec(below)?.[1]
    if (code !== undefined) return this.#convert(code)
    if (below.startsWith('/app')) {
      if (!(await this.#isApp(authorization))) return { status: 401, body: { message: 'Bad credentials' } }
      return this.#asApp(method, below, body)
    }
    if (authorization !== `Bearer ${INSTALLATION_TOKEN}`) return { status: 401, body: { message: 'Bad credentials' } }
    if (below === '/installation/repositories')
      return { status: 200, body: { repositories: pageOf(this.#repositories, query, 'per_page') } }
    const id = Number(/^\/repositories\/(\d+)$/.exec(below)?.[1])
    const repository = this.#repositories.find((one) => one.id === id)
    return repository === undefined ? { status: 404 } : { status: 200, body: repository }
  }

  /** A code can be used once. */
  #convert(code: string): Said {
    if (!this.#codes.delete(code)) return { status: 404 }
    const made = { id: APP_ID, slug: 'freehold-app', html_url: 'https://github.test/apps/freehold-app', pem: this.pem }
    return { status: 201, body: made }
  }

  async #isApp(authorization: string): Promise<boolean> {
    const token = authorization.replace(/^Bearer /, '')
    try {
      const { payload } = await jwtVerify(token, createPublicKey(this.pem), {
        algorithms: ['RS256'],
        currentDate: this.now(),
      })
      const now = this.now().getTime() / 1000
      const isTimely = (payload.iat ?? 0) <= now && (payload.exp ?? 0) <= now + 600
      return payload.iss === String(APP_ID) && isTimely
    } catch {
      return false
    }
  }

  #asApp(method: string, path: string, body: Record<string, unknown>): Said {
    if (path === '/app') return { status: 200, body: { events: ['push', 'pull_request'] } }
    if (path === '/app/hook/config') {
      if (method === 'PATCH') Object.assign(this.hook, { url: body.url, secret: body.secret })
      return { status: 200, body: { url: this.hook.url } }
    }
    if (path === '/app/hook/deliveries')
      return { status: 200, body: [{ delivered_at: '2026-01-01T00:00:00Z', status_code: 202 }] }
    if (path === `/app/installations/${INSTALLATION}`) return { status: 200, body: this.#installation() }
    if (path !== `/app/installations/${INSTALLATION}/access_tokens`) return { status: 404 }
    const ids = (body.repository_ids ?? []) as number[]
    if (ids.some((id) => !this.#repositories.some((one) => one.id === id))) return { status: 422 }
    this.asked = body
    const expires_at = '2026-01-01T01:00:00Z'
    return { status: 201, body: { token: INSTALLATION_TOKEN, expires_at, permissions: body.permissions } }
  }

  #installation(): object {
    return {
      id: Number(INSTALLATION),
      account: { login: 'acme', type: 'Organization', avatar_url: 'https://github.test/acme.png' },
      repository_selection: 'selected',
      permissions: { contents: 'read', metadata: 'read' },
      suspended_at: this.isSuspended ? '2026-01-01T00:00:00Z' : null,
      created_at: '2026-01-01T00:00:00Z',
    }
  }
}

function repositoryOf(id: number) {
  const name = id === 1 ? 'site' : `repository-${id}`
  return {
    id,
    name,
    full_name: `acme/${name}`,
    owner: { login: 'acme' },
    html_url: `https://github.test/acme/${name}`,
    clone_url: `https://github.test/acme/${name}.git`,
    default_branch: 'main',
    private: true,
    archived: false,
    description: null,
    language: 'TypeScript',
    pushed_at: '2026-01-01T00:00:00Z',
  }
}
