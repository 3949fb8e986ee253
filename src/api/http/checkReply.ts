import { PlatformError } from '../../core/errors.ts'
import type { Answer } from './answer.ts'
import { shownAs } from './problem.ts'
import { createsUnnamed, honoursIfMatch, type Route } from './route.ts'
import { routeMayRefuseWith, statusesOf } from './statuses.ts'

/** @throws TypeError if an answer does not match its route's declaration, which is a bug */
export function checkReply(route: Route, answer: Answer): void {
  if (!route.answers.includes(answer.status)) {
    throw new TypeError(`${route.method} ${route.path} answered ${answer.status}, which it does not declare.`)
  }
  const body = answer.parts === undefined ? answer.body : (JSON.parse(answer.parts.join('')) as unknown)
  if (route.reply === undefined || body === undefined) return
  const result = route.reply.safeParse(body)
  if (!result.success) throw new TypeError(`${route.method} ${route.path}: ${result.error.message}`)
  const extra = findUndeclared(body, result.data)
  if (extra !== undefined)
    throw new TypeError(`${route.method} ${route.path} answers ${extra}, which its record lacks.`)
}

/** @throws TypeError for a route that compares If-Match although its document does not name the header */
export function checkCondition(route: Route, { hasComparedVersions }: { hasComparedVersions: boolean }): void {
  if (!hasComparedVersions || honoursIfMatch(route) || createsUnnamed(route)) return
  throw new TypeError(`${route.method} ${route.path} compares If-Match, which its document does not name.`)
}

/** @throws TypeError for a refusal that the document of the route does not name */
export function checkRefusal(route: Route, { status, code }: PlatformError): void {
  const isNamed = statusesOf(route).includes(status)
  if (isNamed && (routeMayRefuseWith(route, status) || !shownAs(route.errors, code).isProblem)) return
  throw new TypeError(`${route.method} ${route.path} refuses with ${status} ${code}, which its document does not name.`)
}

/** @throws TypeError for a permission that the handler requires and the document of the route does not name */
export function checkFurtherPermission({ authorization, further, method, path }: Route, error: unknown): void {
  if (authorization.kind !== 'iam' || further !== undefined) return
  if (!(error instanceof PlatformError) || error.status !== 403 || error.extras.action === authorization.action) return
  throw new TypeError(`${method} ${path} refuses with "${error.message}", and says nothing of further permissions.`)
}

/** Returns the path of the first field of an answer that its schema does not know. */
function findUndeclared(body: unknown, known: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || typeof known !== 'object' || known === null) return undefined
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    if (!Object.hasOwn(known, name)) return name
    const below = findUndeclared(value, (known as Record<string, unknown>)[name])
    if (below !== undefined) return `${name}.${below}`
  }
  return undefined
}
