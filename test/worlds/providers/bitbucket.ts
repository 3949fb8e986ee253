import { type Asked, pageOf, type Said, type StandIn } from './standIn.ts'

type Hook = { uuid: string; url: string; active: boolean; events: string[] }

export const BITBUCKET_ID = '{11111111-1111-4111-8111-000000000001}'

/**
 * Bitbucket Cloud, simulated according to its public REST documentation (developer.atlassian.com): the workspace
 * `acme`.
 */
export class PlayedBitbucket implements StandIn {
  readonly token: string
  readonly hooks: Hook[] = []
  readonly #repositories: { uuid: string; slug: string }[]

  constructor(token: string, count = 60) {
    this.token = token
    this.#repositories = Array.from({ length: count }, (_, index) => repositoryOf(index + 1))
  }

  answer({ method, path, query, authorization, body }: Asked): Said {
    if (authorization !== `Bearer ${this.token}`) return { status: 401, body: { type: 'error' } }
    if (path === '/2.0/workspaces/acme') return { status: 200, body: { slug: 'acme', created_on: null } }
    if (path === '/2.0/repositories/acme')
      return { status: 200, body: { values: pageOf(this.#repositories, query, 'pagelen') } }
    const [, uuid = '', rest = ''] = /^\/2\.0\/repositories\/acme\/([^/]+)(\/.*)?$/.exec(path) ?? []
    const repository = this.#repositories.find((one) => one.uuid === decodeURIComponent(uuid))
    if (repository === undefined) return { status: 404, body: { type: 'error' } }
    if (rest === '') return { status: 200, body: repository }
    if (rest === '/hooks' && method === 'GET')
      return { status: 200, body: { values: pageOf(this.hooks, query, 'pagelen') } }
    const { url, active, events } = body as { url: string; active: boolean; events: string[] }
    if (rest === '/hooks') {
      const hook = { uuid: `{hook-${this.hooks.length + 1}}`, url, active, events }
      this.hooks.push(hook)
      return { status: 201, body: hook }
    }
    const hook = this.hooks.find((one) => decodeURIComponent(rest) === `/hooks/${one.uuid}`)
    if (hook === undefined || method !== 'PUT') return { status: 404 }
    Object.assign(hook, { active, events })
    return { status: 200, body: hook }
  }
}

function repositoryOf(number: number) {
  const slug = number === 1 ? 'site' : `repository-${number}`
  const href = `https://bitbucket.test/acme/${slug}`
  return {
    uuid: `{11111111-1111-4111-8111-${String(number).padStart(12, '0')}}`,
    slug,
    full_name: `acme/${slug}`,
    workspace: { slug: 'acme' },
    links: { html: { href }, clone: [{ name: 'https', href: `https://ada@bitbucket.test/acme/${slug}.git` }] },
    mainbranch: { name: 'main' },
    is_private: true,
    description: '',
    language: 'typescript',
    updated_on: '2026-01-01T00:00:00Z',
  }
}
