import { z } from 'zod'
import { UUID_PATTERN } from '../core/names.ts'
import { toRe2Pattern } from '../core/shownText.ts'

/** A structural schema of the API server (KEP-2335): the part of OpenAPI 3.0 that a CRD supports. */
export type StructuralSchema = { [key: string]: unknown }

/** Keys that zod writes, and that the API server refuses under strict field validation or warns about. */
const DROPPED_KEYS = new Set([
  '$schema',
  'examples',
  'deprecated',
  'readOnly',
  'id',
  'contentEncoding',
  'propertyNames',
])
/** Formats that the API server knows; any other one causes a warning at each apply. */
const KNOWN_FORMATS = new Set([
  'date-time',
  'date',
  'email',
  'uri',
  'ipv4',
  'ipv6',
  'int32',
  'int64',
  'byte',
  'password',
])
const DATE_TIME_PATTERN = '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$'
const SAFE_INTEGER_BOUNDS = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])

/**
 * Converts a zod schema to the structural schema of a CRD, from the input side: what a writer may send.
 *
 * @throws Error naming the path if the schema contains something that no structural schema can express (unions,
 * recursion), so that the build fails and not the install
 */
export function structuralSchema(schema: z.ZodType, path: string): StructuralSchema {
  const json = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline' })
  return structural(json as StructuralSchema, path)
}

function structural(node: StructuralSchema, path: string): StructuralSchema {
  refuseUnsupported(node, path)
  const result: StructuralSchema = {}
  for (const [key, value] of Object.entries(node)) {
    if (!isKept(key, value, node)) continue
    result[key] = structuralValue(key, value, path, node)
  }
  // Clients in other languages choose the size of a number by its format.
  if (result.type === 'integer') result.format = isInt32(result) ? 'int32' : 'int64'
  // The default, said because server-side apply depends on it: whoever applies such a list owns all of it.
  if (result.type === 'array') result['x-kubernetes-list-type'] ??= 'atomic'
  if (result.type === undefined && result['x-kubernetes-int-or-string'] !== true) {
    result['x-kubernetes-preserve-unknown-fields'] = true
  }
  return result
}

const isInt32 = ({ minimum, maximum }: StructuralSchema) => Number(minimum) >= -(2 ** 31) && Number(maximum) < 2 ** 31

function isKept(key: string, value: unknown, node: StructuralSchema): boolean {
  if (DROPPED_KEYS.has(key)) return false
  // The API server refuses `false` beside properties; it prunes or refuses unknown fields anyway.
  if (key === 'additionalProperties' && typeof value === 'boolean') return false
  if (key === 'format') return KNOWN_FORMATS.has(String(value))
  // zod also writes the formats that it knows as patterns; the API server checks formats itself. For uuids and times it
  // accepts more spellings than REST does, such as an upper-case uuid, which would make a second key of one id.
  if (key === 'pattern' && node.format === 'date-time') return true
  if (key === 'pattern') return node.format === undefined || !KNOWN_FORMATS.has(String(node.format))
  if (key === 'minimum' || key === 'maximum') return !SAFE_INTEGER_BOUNDS.has(Number(value))
  return true
}

function structuralValue(key: string, value: unknown, path: string, node: StructuralSchema): unknown {
  if (key === 'pattern' && node.format === 'uuid') return UUID_PATTERN
  if (key === 'pattern' && node.format === 'date-time') return DATE_TIME_PATTERN
  if (key === 'pattern') return toRe2Pattern({ pattern: String(value) })
  if (key === 'properties') {
    return Object.fromEntries(
      Object.entries(value as Record<string, StructuralSchema>).map(([name, property]) => [
        name,
        structural(property, `${path}.${name}`),
      ]),
    )
  }
  if (key === 'items') return structural(value as StructuralSchema, `${path}[]`)
  if (key === 'additionalProperties') return structural(value as StructuralSchema, `${path}{}`)
  if (key === 'allOf')
    return (value as StructuralSchema[]).map(({ type: _, ...rest }) => ({
      ...rest,
      ...(rest.pattern === undefined ? {} : { pattern: toRe2Pattern({ pattern: String(rest.pattern) }) }),
    }))
  return value
}

function refuseUnsupported(node: StructuralSchema, path: string): void {
  for (const key of ['anyOf', 'oneOf', '$ref', 'not']) {
    if (key in node)
      throw new Error(
        `${path}: "${key}" cannot stand in a structural schema; write optional fields and a rule instead.`,
      )
  }
  if (typeof node.pattern === 'string' && /\(\?[=!<]/.test(node.pattern)) {
    throw new Error(`${path}: the pattern ${node.pattern} looks ahead or behind, which RE2 cannot.`)
  }
}
