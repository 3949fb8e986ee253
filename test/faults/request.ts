import type { IncomingMessage } from 'node:http'

/** A request as the API server would name it in its audit log. */
export type ProxiedRequest = {
  at: number
  /** get, list, watch, create, update, patch, delete, deletecollection; for other paths the method in lower case. */
  verb: string
  /** `plural.group`, with `/subresource`; the path if it is not a resource. */
  resource: string
  namespace: string | undefined
  name: string | undefined
  /** Of patches: merge, apply, json. */
  patch: string | undefined
  path: string
  userAgent: string
}

const RESOURCE =
  /^\/(?:api\/(?<coreVersion>[^/]+)|apis\/(?<group>[^/]+)\/(?<version>[^/]+))(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>.+))?)?$/

export function readRequest(incoming: IncomingMessage): ProxiedRequest {
  const url = new URL(incoming.url ?? '/', 'http://localhost')
  const method = incoming.method ?? 'GET'
  const parts = namespaceItself(url.pathname) ?? RESOURCE.exec(url.pathname)?.groups
  const common = {
    at: performance.now(),
    patch: patchKind(incoming.headers['content-type']),
    path: url.pathname,
    userAgent: incoming.headers['user-agent'] ?? '',
  }
  if (parts?.plural === undefined) {
    return { ...common, verb: method.toLowerCase(), resource: url.pathname, namespace: undefined, name: undefined }
  }
  const { plural, group, subresource, namespace, name } = parts
  const type = group === undefined ? plural : `${plural}.${group}`
  const resource = subresource === undefined ? type : `${type}/${subresource}`
  const decoded = { namespace: decode(namespace), name: decode(name) }
  return { ...common, ...decoded, verb: verbOf(method, name, url.searchParams), resource }
}

type Parts = { plural?: string; group?: string; subresource?: string; namespace?: string; name?: string }

/** `/api/v1/namespaces/x` and its subresources are about the namespace; in longer paths it is only the location. */
function namespaceItself(path: string): Parts | undefined {
  const match = /^\/api\/v1\/namespaces\/([^/]+)(?:\/(status|finalize))?$/.exec(path)
  if (match === null) return undefined
  return { plural: 'namespaces', name: match[1] ?? '', ...(match[2] === undefined ? {} : { subresource: match[2] }) }
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): string {
  if (method === 'GET') {
    if (['1', 'true'].includes(query.get('watch') ?? '')) return 'watch'
    return name === undefined ? 'list' : 'get'
  }
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete'
  return { POST: 'create', PUT: 'update', PATCH: 'patch' }[method] ?? method.toLowerCase()
}

function patchKind(contentType: string | undefined): string | undefined {
  return /^application\/(merge|apply|json|strategic-merge)-patch/.exec(contentType ?? '')?.[1]
}

function decode(segment: string | undefined): string | undefined {
  return segment === undefined ? undefined : decodeURIComponent(segment)
}
