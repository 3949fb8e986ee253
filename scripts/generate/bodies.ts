import { z } from 'zod'
import type { Route } from '../../src/api/http/route.ts'
import type { ResourceKind } from '../../src/cli/collection.ts'
import { deriveCollections } from '../../src/cli/collections.ts'
import type { BodyField } from '../../src/client/bodyField.ts'
import { unwrapSchema } from '../../src/core/unwrapSchema.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { fullSchemaOf } from '../../src/crds/schemaDefaults.ts'
import { structuralSchema } from '../../src/crds/structural.ts'
import { isPaged } from './client.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  format?: string
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  readOnly?: boolean
  description?: string
  default?: unknown
  'x-kubernetes-validations'?: { message: string }[]
  $defs?: Record<string, Schema>
} & Partial<Record<(typeof BOUNDS)[number][0 | 1], number>>

/** The bounds that a type can have, with the unit that they count. */
const BOUNDS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', 'characters'],
  ['minItems', 'maxItems', 'items'],
  ['minProperties', 'maxProperties', 'names'],
] as const

const PLURALS: Readonly<Record<string, string>> = {
  string: 'strings',
  integer: 'integers',
  number: 'numbers',
  boolean: 'booleans',
  object: 'objects',
}

/** Merges alternatives into one schema: without null, and with references resolved. */
function mergeAlternatives(schema: Schema, root: Schema): Schema {
  const { description, default: standard } = schema
  const own = {
    ...(description !== undefined && { description }),
    ...(standard !== undefined && { default: standard }),
  }
  if (schema.$ref !== undefined) {
    const found = root.$defs?.[schema.$ref.split('/').at(-1) ?? '']
    return found === undefined ? own : { ...mergeAlternatives(found, root), ...own }
  }
  const variants = (schema.anyOf ?? schema.oneOf)?.filter(({ type }) => type !== 'null')
  if (variants?.length === 1) return { ...mergeAlternatives(variants[0] as Schema, root), ...own }
  return schema
}

function typeOf(given: Schema, root: Schema): string {
  const schema = mergeAlternatives(given, root)
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) return [...new Set(variants.map((each) => typeOf(each, root)))].join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.enum?.filter((value) => value !== null)
  if (choices !== undefined) return choices.map(String).join(' | ')
  const type = [schema.type].flat().find((each) => each !== 'null')
  const name = nameOfType(schema, type, root)
  return impliesLength(name) ? name : [name, ...boundsOf(schema)].join(', ')
}

/** The format or quantity already implies the length. */
const impliesLength = (name: string) => /^(uuid|date-time|quantity)\b/.test(name)

function nameOfType(schema: Schema, type = 'any', root: Schema): string {
  const { format, items, properties, additionalProperties } = schema
  if (type === 'array') return `list of ${pluralOf(items, root)}`
  if (type !== 'object') return quantityOf(schema) ?? (format === 'date-time' || format === 'uuid' ? format : type)
  const hasFields = properties !== undefined && Object.keys(properties).length > 0
  if (hasFields || typeof additionalProperties !== 'object') return 'object'
  return `map of ${pluralOf(additionalProperties, root)}`
}

function pluralOf(schema: Schema | undefined, root: Schema): string {
  const each = schema === undefined ? 'any' : typeOf(schema, root)
  return PLURALS[each] ?? (/[, ]/.test(each) ? `(${each})` : each)
}

/** `quantity of bytes from 1Mi to 1Ei`: the bounds of such a text are only in its rule. */
const quantityOf = ({ 'x-kubernetes-validations': rules = [] }: Schema): string | undefined =>
  rules.flatMap(({ message }) => /^must be a (quantity of .*?)(?:, such as .*)?$/.exec(message)?.[1] ?? [])[0]

function boundsOf(schema: Schema): string[] {
  return BOUNDS.flatMap(([least, most, what]) => {
    const [from, to] = [schema[least], schema[most]].map((bound) =>
      bound === undefined || Math.abs(bound) === Number.MAX_SAFE_INTEGER ? undefined : bound,
    )
    const range = rangeOf(what === '' ? from : from || undefined, to)
    return range === undefined ? [] : [`${range} ${what}`.trim()]
  })
}

function rangeOf(from: number | undefined, to: number | undefined): string | undefined {
  if (from === undefined) return to === undefined ? undefined : `at most ${to}`
  return to === undefined ? `at least ${from}` : `${from} to ${to}`
}

/** @param standards the schema of the kind, which has the defaults for fields that a body leaves out */
function fieldsOf(given: Schema, root: Schema, standards: Schema | undefined, before = ''): BodyField[] {
  const schema = mergeAlternatives(given, root)
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const part = mergeAlternatives(property, root)
    if (part.readOnly === true || isIgnored(part)) return []
    const standard = standards?.properties?.[name]
    const value = part.default ?? standard?.default
    const path = `${before}${name}`
    const list = part.items === undefined ? undefined : mergeAlternatives(part.items, root)
    return [
      {
        name: path,
        type: typeOf(property, root),
        ...(schema.required?.includes(name) === true && part.default === undefined && { isRequired: true as const }),
        ...(value !== undefined && { default: JSON.stringify(value) }),
        about: (part.description ?? '').replaceAll('\n', ' '),
      },
      ...fieldsOf(part, root, standard, `${path}.`),
      ...(list === undefined ? [] : fieldsOf(list, root, standard?.items, `${path}[].`)),
    ]
  })
}

/** Fields of answers that bodies may repeat without effect. */
const isIgnored = ({ description, type, ...others }: Schema) =>
  type === undefined && Object.keys(others).length === 0 && (description === undefined || /ignored/i.test(description))

function bodyOf(route: Route, kinds: readonly AnyKind[]): BodyField[] {
  const body = route.documentedBody ?? route.body
  if (route.bodyKind !== 'json' || body === undefined) return []
  const json = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
  const kind = kinds.find((each) => each.kind === route.kind)
  return fieldsOf(json, json, kind && standardsOf(kind))
}

/** Returns the schema of the kind, with the defaults that a CRD leaves out of the items of lists. */
function standardsOf(kind: AnyKind): Schema {
  const schema = structuralSchema(kind.spec, kind.kind) as Schema
  const lists = Object.entries(kind.spec.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const full = fullSchemaOf(unwrapSchema(field))
    if (!(full instanceof z.ZodArray)) return []
    const { items = {} } = z.toJSONSchema(full, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
    return [[name, { ...schema.properties?.[name], items }] as const]
  })
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(lists) } }
}

/**
 * `src/client/bodies.ts`: the fields with which each thing can be created, including its name, by method and path of
 * its creation.
 */
export function bodiesModule(
  routes: readonly Route[],
  kinds: readonly AnyKind[],
  resourceKinds: readonly ResourceKind[],
): string {
  const creations = deriveCollections(
    routes.map((route) => ({
      method: route.method,
      path: route.path,
      ...(isPaged(route) && { paged: true as const }),
    })),
    resourceKinds,
  ).flatMap((collection) => {
    const made = collection.routes.filter(({ verb }) => verb === 'create')
    // These are created by their first PUT.
    return made.length > 0 ? made : collection.routes.filter(({ verb }) => verb === 'update')
  })
  const wanted = new Set(creations.map(({ method, path }) => `${method} ${path}`))
  const rows = routes.flatMap((route) => {
    const key = `${route.method} ${route.path}`
    const fields = wanted.has(key) ? bodyOf(route, kinds) : []
    if (fields.length === 0) return []
    return [`  ${JSON.stringify(key)}: [`, ...fields.map((field) => `    ${JSON.stringify(field)},`), '  ],']
  })
  const named = routes.flatMap(({ method, path, naming }) => {
    const key = `${method} ${path}`
    return naming !== undefined && wanted.has(key) ? [`  ${JSON.stringify(key)}: ${JSON.stringify(naming.rule)},`] : []
  })
  return [
    '// Generated by `npm run generate` from the route table and the kinds; change the declaration, not this file.',
    '',
    "import type { BodyField } from './bodyField.ts'",
    '',
    '/** The fields of the body by which each thing is created, by method and path. */',
    'export const BODIES: Readonly<Record<string, readonly BodyField[]>> = {',
    ...rows,
    '}',
    '',
    '/** What the NAME of each must be, where the caller gives it: `must have ...`. */',
    'export const NAMINGS: Readonly<Record<string, string>> = {',
    ...named,
    '}',
    '',
  ].join('\n')
}
