import { z } from 'zod'
import { type Answer, NO_STORE } from './answer.ts'
import type { Route } from './route.ts'

/** Fields that give access to whoever reads them; names, ids and addresses do not. */
const SECRET_FIELDS =
  /^(?:token|access_?token|refresh_?token|session_?token|password|link|\w*api_?key|\w*connection_?string|secret_?access_?key|\w+secret)$/i

const SECRET_ROUTES = new WeakMap<Route, boolean>()

/** Anyone with the link reads whom it is for, and no sign-in keeps caches from storing the answer. */
const isOpenedByLink = ({ path }: Route) => path.includes('/{token}')

/**
 * Marks an answer that may contain a secret, so that no cache stores it. The reply's schema
 * or the path decides, so that no handler can forget it. Lists show no secrets.
 */
export function withNoStore(route: Route, answer: Answer): Answer {
  if (answer.headers?.['cache-control'] !== undefined || answer.status >= 300) return answer
  if (!mayHoldSecret(route) && !isOpenedByLink(route)) return answer
  return { ...answer, headers: { ...answer.headers, ...NO_STORE } }
}

export function mayHoldSecret(route: Route): boolean {
  const known = SECRET_ROUTES.get(route)
  if (known !== undefined) return known
  const holds = route.list === undefined && route.reply !== undefined && holdsSecret(route.reply, new Set())
  SECRET_ROUTES.set(route, holds)
  return holds
}

function holdsSecret(schema: z.ZodType, seen: Set<z.ZodType>): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  const below = (part: unknown) => holdsSecret(part as z.ZodType, seen)
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape as Record<string, z.ZodType>).some(
      ([name, field]) => (SECRET_FIELDS.test(name) && isText(field)) || below(field),
    )
  if (schema instanceof z.ZodArray) return below(schema.element)
  if (schema instanceof z.ZodRecord) return below(schema.valueType)
  if (schema instanceof z.ZodUnion) return schema.options.some(below)
  if (schema instanceof z.ZodLazy) return below(schema.unwrap())
  return innerOf(schema).some(below)
}

function isText(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodString) return true
  if (schema instanceof z.ZodUnion) return schema.options.some((option) => isText(option as z.ZodType))
  return innerOf(schema).some(isText)
}

/** Returns the schemas inside wrappers: optional, nullable, described, piped, transformed or intersected ones. */
function innerOf(schema: z.ZodType): z.ZodType[] {
  const { innerType, in: from, out: to, left, right } = schema.def as unknown as Record<string, z.ZodType | undefined>
  return [innerType, from, to, left, right].filter((part) => part !== undefined)
}
