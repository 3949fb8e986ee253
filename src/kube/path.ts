import type { Resource } from './object.ts'
import { apiVersionOf, resourceId } from './object.ts'

export type Query = Record<string, string | number | boolean | undefined>

/**
 * Returns the escaped path of a type or of one of its objects. Names come from outside: a name that could leave its
 * path segment is refused here, even if a caller forgot to check it.
 *
 * @throws RangeError for an empty name, a dot segment, a slash or a control character
 */
export function resourcePath(
  resource: Resource,
  at: { namespace?: string | undefined; name?: string | undefined; subresource?: string | undefined },
): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${apiVersionOf(resource)}`
  const parts = [root]
  if (resource.namespaced && at.namespace !== undefined) parts.push('namespaces', escapePathSegment(at.namespace))
  if (resource.namespaced && at.namespace === undefined && at.name !== undefined) {
    throw new RangeError(`An object of ${resourceId(resource)} is addressed by its namespace and name.`)
  }
  parts.push(resource.plural)
  if (at.name !== undefined) parts.push(escapePathSegment(at.name))
  if (at.subresource !== undefined) parts.push(...at.subresource.split('/').map(escapePathSegment))
  return parts.join('/')
}

/** Returns the name as one escaped path segment. */
export function escapePathSegment(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not pass
  if (name === '' || name === '.' || name === '..' || /[/\\\x00-\x1f\x7f]/.test(name)) {
    throw new RangeError(`${JSON.stringify(name)} is not a name of an object.`)
  }
  return encodeURIComponent(name)
}

/** Returns the Accept header for a list or watch of a resource (API conventions, "Alternate representations"). */
export function acceptOf({ metadataOnly }: Resource, as: 'PartialObjectMetadata' | 'PartialObjectMetadataList') {
  return metadataOnly === true ? { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` } : {}
}

export function queryString(query: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
