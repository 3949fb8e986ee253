import type { Answer } from './answer.ts'
import type { Route } from './route.ts'
import type { Router } from './router.ts'

/** In characters: no key of the interface is longer. */
const KEY_MAX = 256

/**
 * Adds the Location of a created object (RFC 9110 section 10.2.2): the path that was written to, or a path below it, if
 * a route reads it and is named after a field of the body. Objects that only appear in lists have none.
 */
export function withLocation(router: Router, route: Route, path: string, answer: Answer): Answer {
  const isOwn = route.path.endsWith('}')
  const places = isOwn ? [{ name: undefined, place: path }] : candidatePaths(path, answer.body)
  const found = places.find(({ name, place }) => {
    const read = findReadRoute(router, place)
    return read !== undefined && (name === undefined || isNamedAfter(read, name))
  })
  return found === undefined ? answer : { ...answer, headers: { location: found.place, ...answer.headers } }
}

/** @throws TypeError if nothing can be read at the Location of an answer, which is a bug */
export function checkLocation(router: Router, { headers = {} }: Answer): void {
  const { location } = headers
  if (location !== undefined && findReadRoute(router, location) === undefined)
    throw new TypeError(`Nothing can be read at the Location ${location}.`)
}

function findReadRoute(router: Router, place: string): Route | undefined {
  return router.find('GET', place)?.route
}

/** Returns possible paths of a record below its collection: one for each of its short texts, its id and name last. */
function candidatePaths(path: string, body: unknown): { name: string; place: string }[] {
  const fields = Object.entries((body ?? {}) as Record<string, unknown>)
  const isGeneral = ([name]: readonly [string, unknown]) => Number(name === 'id' || name === 'name')
  return fields
    .toSorted((one, other) => isGeneral(one) - isGeneral(other))
    .flatMap(([name, value]) =>
      typeof value === 'string' && value.length > 0 && value.length <= KEY_MAX
        ? [{ name, place: `${path}/${encodeURIComponent(value)}` }]
        : [],
    )
}

/** `{denyId}` is the field `denyId`, or `id`; `{bucketName}` is the field of that name, or `name`. */
function isNamedAfter({ path }: Route, field: string): boolean {
  const parameter = path.slice(path.lastIndexOf('{') + 1, -1)
  return parameter === field || (/^(id|name)$/.test(field) && parameter.toLowerCase().endsWith(field))
}
