import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ChartRegistry = {
  /** Such as http://127.0.0.1:5000. */
  readonly url: string
  push(repository: string, version: string, annotations?: Readonly<Record<string, string>>, isSigned?: boolean): void
  /** Artifacts that are not charts. */
  pushImage(repository: string, tag: string): void
  /** Whether it answers with 503. */
  isAway: boolean
  stop(): Promise<void>
}

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const manifestOf = (config: string, annotations: object) =>
  JSON.stringify({ schemaVersion: 2, config: { mediaType: config }, layers: [], annotations })

/**
 * A registry of charts that issues tokens to everybody, like public ones: the parts of the distribution protocol that
 * are read, in pages of two tags.
 */
export async function startChartRegistry(): Promise<ChartRegistry> {
  const repositories = new Map<string, Map<string, string>>()
  const put = (repository: string, tag: string, manifest: string) => {
    const tags = repositories.get(repository) ?? new Map<string, string>()
    repositories.set(repository, tags.set(tag, manifest))
  }
  const registry = { isAway: false }
  const server = createServer((request, response) => {
    const say = (status: number, body: object | string, headers: Record<string, string> = {}) => {
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
    }
    const url = new URL(request.url ?? '/', base())
    if (registry.isAway) return say(503, {})
    if (url.pathname === '/token') return say(200, { token: url.searchParams.get('scope') })
    const [, repository = '', kind = '', reference = ''] =
      /^\/v2\/(.+)\/(tags|manifests)\/([^/]+)$/.exec(url.pathname) ?? []
    if (request.headers.authorization !== `Bearer repository:${repository}:pull`) {
      const realm = `Bearer realm="${base()}/token",service="charts"`
      return say(401, { errors: [] }, { 'www-authenticate': realm })
    }
    const tags = repositories.get(repository)
    if (tags === undefined) return say(404, { errors: [] })
    if (kind === 'tags') {
      const all = [...tags.keys()].sort()
      const from = all.findIndex((tag) => tag > (url.searchParams.get('last') ?? ''))
      return say(200, { name: repository, tags: from < 0 ? [] : all.slice(from, from + 2) })
    }
    const manifest = tags.get(reference)
    if (manifest === undefined) return say(404, { errors: [] })
    return say(200, manifest, { 'docker-content-digest': digestOf(manifest) })
  })
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return Object.assign(registry, {
    url: base(),
    push(repository: string, version: string, annotations = {}, isSigned = false) {
      const manifest = manifestOf('application/vnd.cncf.helm.config.v1+json', { version, ...annotations })
      put(repository, version, manifest)
      if (isSigned) put(repository, `${digestOf(manifest).replace(':', '-')}.sig`, '{}')
    },
    pushImage: (repository: string, tag: string) =>
      put(repository, tag, manifestOf('application/vnd.oci.image.config.v1+json', {})),
    stop: () => closed(server),
  })
}

const closed = (server: Server) =>
  new Promise<void>((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })
