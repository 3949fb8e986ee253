import type { Answer } from './answer.ts'
import type { Route } from './route.ts'
import type { Router } from './router.ts'

/** In characters: no key of the interface is longer. */
const KEY_MAX = 256

/**
 * With the path of what was made (RFC 9110 section 15.3.2): the one that was written to, or below it the field that a route
 * there is named after. Some of these paths have no GET, and only change or delete it.
 */
export function located(router: Router, route: Route, path: string, answer: Answer): Answer {
  const isOwn = route.path.endsWith('}')
  const places = isOwn ? [{ name: undefined, place: path }] : placesBelow(path, answer.body)
  const isThere = (method: string, { name, place }: { name: string | undefined; place: string }) => {
    const found = router.find(method, place)?.route
    return found?.isBuilt === true && (name === undefined || isNamedAfter(found, name))
  }
  const methods = ['GET', 'PATCH', 'DELETE']
  const place = methods.flatMap((method) => places.filter((one) => isThere(method, one)))[0]?.place
  return place === undefined ? answer : { ...answer, headers: { location: place, ...answer.headers } }
}

/** What a record could be called below the path of its collection: by each of its short texts, its id and name last. */
function placesBelow(path: string, body: unknown): { name: string; place: string }[] {
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

/** `{denyId}` is the field `denyId`, or the id; `{bucketName}` the field of that name, or the name. */
function isNamedAfter({ path }: Route, field: string): boolean {
  const parameter = path.slice(path.lastIndexOf('{') + 1, -1)
  return parameter === field || (/^(id|name)$/.test(field) && parameter.toLowerCase().endsWith(field))
}
