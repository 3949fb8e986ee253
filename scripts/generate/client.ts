import { z } from 'zod'
import type { Route } from '../../src/api/http/route.ts'
import { LIST_QUERY_NAMES } from '../../src/api/resources/paging.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { clientNames } from './clientNames.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  readOnly?: boolean
  $defs?: Record<string, Schema>
}

/** The parts of an operation that a caller must know. */
function queryNames({ query, list }: Route): string[] {
  const paging = list === undefined ? [] : [...LIST_QUERY_NAMES]
  return [...new Set([...Object.keys(query?.shape ?? {}), ...paging])].sort()
}

export const isPaged = (route: Route) => route.list !== undefined || queryNames(route).includes('pageSize')

/** TypeScript for a JSON schema; `unknown` for what it cannot express. Types of named records are added to `named`. */
function typeOf(schema: Schema, named: Map<string, string>, rename: (name: string) => string): string {
  const inner = (part: Schema) => typeOf(part, named, rename)
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return /^[A-Za-z]\w*$/.test(name) ? rename(name) : 'unknown'
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ') || 'never'
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) return [...new Set(variants.map(inner))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${inner(part)})`).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => inner({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `Array<${schema.items === undefined ? 'unknown' : inner(schema.items)}>`
    case 'object':
      return objectType(schema, inner)
    default:
      return 'unknown'
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema, inner: (part: Schema) => string) {
  if (properties === undefined || Object.keys(properties).length === 0) {
    const values = typeof additionalProperties === 'object' ? inner(additionalProperties) : 'unknown'
    return `Record<string, ${values}>`
  }
  const fields = Object.entries(properties).map(([name, part]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
    return `${key}${required.includes(name) ? '' : '?'}: ${inner(part)}`
  })
  return `{ ${fields.join('; ')} }`
}

/** The type of a zod schema as it is sent (`input`) or received (`output`). */
function zodTypeOf(schema: z.ZodType | undefined, io: 'input' | 'output', named: Map<string, string>): string {
  if (schema === undefined) return 'unknown'
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Schema
  if (io === 'input' && json.properties !== undefined) {
    json.properties = Object.fromEntries(Object.entries(json.properties).filter(([, part]) => part.readOnly !== true))
  }
  // Input and output may differ under one name: fields with defaults are optional in the input.
  const rename = (name: string) => (name.startsWith('__') ? 'unknown' : io === 'input' ? `${name}Input` : name)
  for (const [name, part] of Object.entries(json.$defs ?? {})) {
    if (rename(name) !== 'unknown') named.set(rename(name), typeOf(part, named, rename))
  }
  const id = schema.meta()?.id
  if (json.$ref === undefined && typeof id === 'string' && /^[A-Za-z]\w*$/.test(id)) {
    named.set(rename(id), typeOf(json, named, rename))
    return rename(id)
  }
  return typeOf(json, named, rename)
}

/** Whether a request without a body is refused, because a field has no default. */
function needsBody({ bodyKind, isBodyOptional, body: read, documentedBody: body = read }: Route): boolean {
  if (bodyKind !== 'json' || isBodyOptional || body === undefined) return false
  const json = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
  const { required = [] } = json.$defs?.[json.$ref?.split('/').at(-1) ?? ''] ?? json
  return required.length > 0
}

/** The possible statuses of a thing, if its record lists them; waiting for another would be in vain. */
function statusesOf({ method, path, reply, replyMediaType }: Route): readonly unknown[] {
  if (method !== 'GET' || !path.endsWith('}') || replyMediaType !== 'application/json' || reply === undefined) return []
  const json = z.toJSONSchema(reply, { io: 'output', unrepresentable: 'any', reused: 'inline' }) as Schema
  const followed = (part: Schema | undefined) => json.$defs?.[part?.$ref?.split('/').at(-1) ?? ''] ?? part
  return followed(followed(json)?.properties?.status)?.enum ?? []
}

/**
 * The command line's words for the collection of a kind: `roleAssignments`, or `blueprints/sources` if a higher segment
 * has that name too. Derived from its routes, otherwise from its name.
 */
function collectionOfKind({ kind, plural, segment }: AnyKind, routes: readonly Route[]): string | undefined {
  const literals = ({ path }: Route) => path.split('/').filter((word) => !word.startsWith('{'))
  const nounOf = (route: Route) => literals(route).at(-1) ?? ''
  const parentOf = (route: Route) => literals(route).at(-2)
  const ofItems = routes.filter(({ path }) => path.endsWith('}'))
  const own = routes.filter((each) => each.kind === kind)
  const isNamedAlike = (each: Route) => plural.endsWith(nounOf(each).toLowerCase())
  const names = [segment, plural.replace(/^platform/, '')]
  const byName = ofItems.find((each) => names.includes(nounOf(each)))
  const found = byName ?? own.find(isNamedAlike) ?? own[0]
  if (found === undefined) return undefined
  const sameNoun = routes.filter((each) => nounOf(each) === nounOf(found))
  const highest = Math.min(...sameNoun.map((each) => literals(each).length))
  const isPlain = literals(found).length === highest || sameNoun.every((each) => parentOf(each) === parentOf(found))
  return isPlain ? nounOf(found) : `${parentOf(found)}/${nounOf(found)}`
}

/** The table's information on an operation, beside its method and path. */
function extrasOf(route: Route): string {
  const query = queryNames(route)
  const statuses = statusesOf(route)
  return [
    query.length > 0 ? `, query: [${query.map((entry) => JSON.stringify(entry)).join(', ')}]` : '',
    isPaged(route) ? ', paged: true' : '',
    route.authorization.kind === 'iam' && route.authorization.isData ? ', isData: true' : '',
    needsBody(route) ? ', needsBody: true' : '',
    route.bodyKind === 'raw' ? ', isRaw: true' : '',
    route.replyMediaType === 'application/json' ? '' : `, media: '${route.replyMediaType}'`,
    statuses.length > 0 ? `, statuses: [${statuses.map((status) => JSON.stringify(status)).join(', ')}]` : '',
  ].join('')
}

/**
 * `src/client/generated.ts`: the operations as a table, the records as types, and the kinds that are both custom
 * resources and collections of the REST interface.
 */
export function clientModule(
  routes: readonly Route[],
  idOf: (route: Route) => string,
  kinds: readonly AnyKind[],
): string {
  const named = new Map<string, string>()
  const names = clientNames(
    routes.map((route) => ({ id: idOf(route), method: route.method, path: route.path })),
    kinds,
  )
  const rows = routes.map((route) => {
    const isJson = route.replyMediaType === 'application/json'
    const body = zodTypeOf(route.bodyKind === 'json' ? (route.documentedBody ?? route.body) : undefined, 'input', named)
    const reply = zodTypeOf(isJson ? route.reply : undefined, 'output', named)
    const types = body === 'unknown' && reply === 'unknown' ? '' : `<${body}, ${reply}>`
    const id = idOf(route)
    return `  ${JSON.stringify(id)}: of${types}()({ name: '${names.get(id)}', method: '${route.method}', path: '${route.path}'${extrasOf(route)} }),`
  })
  return [
    '// Generated by `npm run generate` from the route table; change the route, not this file.',
    '',
    "import { of } from './operation.ts'",
    '',
    '/** Every operation of the interface with its body and its reply, where their records are known. */',
    'export const OPERATIONS = {',
    ...rows,
    '}',
    '',
    '/** Kinds of custom resources, with the collection of the REST interface in which they are, where there is one. */',
    'export const RESOURCE_KINDS = [',
    ...kinds.map((each) => {
      const { apiVersion, kind, plural, shortNames, placement } = each
      const collection = collectionOfKind(each, routes)
      const where = collection === undefined ? '' : `, collection: '${collection}'`
      return `  { apiVersion: '${apiVersion}', kind: '${kind}', plural: '${plural}', shortNames: [${shortNames.map((name) => `'${name}'`).join(', ')}], placement: '${placement}'${where} },`
    }),
    '] as const',
    '',
    ...[...named].sort(([a], [b]) => a.localeCompare(b)).map(([name, type]) => `export type ${name} = ${type}`),
    '',
  ].join('\n')
}
