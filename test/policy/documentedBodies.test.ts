import { expect } from 'chai'
import type { z } from 'zod'
import { safeParseModel } from '../../src/api/http/model.ts'
import { documentedPaths, documentOf } from '../../src/api/http/openapi.ts'
import type { Route } from '../../src/api/http/route.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { type DocumentedSchema, dereferenced, isDocumented, type Schemas } from '../make/documented.ts'
import { triedValues } from '../make/wrongValues.ts'

type Path = readonly (string | number)[]
type Field = { path: Path; schema: DocumentedSchema }
type Operation = { operationId: string; requestBody?: { content: Record<string, { schema: DocumentedSchema }> } }
type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Schemas } }

/** What the platform refuses although no schema of a client can, by the reason. */
const MEANT: readonly RegExp[] = [
  /^must be the (full )?name of a (branch|repository)/, // what must not match, and names that Git itself reserves
  /^is a reserved name of the Git host/,
  /^must be cron (with a day that its months have|whose ranges go upwards)/,
  /^matches no (data )?action of the platform/,
  /^must be certificates in PEM/,
  /^must not have the same (?!text)\w+ twice/, // records of a list
  /^must have no (control characters in its keys|invisible characters)/,
]

/** The schema of the value itself, of a field that may be null. */
function plain(given: DocumentedSchema, schemas: Schemas): DocumentedSchema {
  const schema = dereferenced(given, schemas)
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  if (only !== undefined && others.length === 0) return plain(only, schemas)
  const [type] = [schema.type ?? []].flat().filter((name) => name !== 'null')
  return type === undefined ? schema : { ...schema, type }
}

function fieldsOf(given: DocumentedSchema, schemas: Schemas, path: Path = []): Field[] {
  const schema = plain(given, schemas)
  if (dereferenced(given, schemas).readOnly === true || path.length > 4) return []
  const { properties = {}, items, additionalProperties } = schema
  return [
    ...(path.length === 0 ? [] : [{ path, schema: given }]),
    ...Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, schemas, [...path, name])),
    ...(items === undefined ? [] : fieldsOf(items, schemas, [...path, 0])),
    ...(typeof additionalProperties === 'object' ? fieldsOf(additionalProperties, schemas, [...path, 'key']) : []),
  ]
}

function bodyWith([name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value
  return typeof name === 'number' ? [bodyWith(rest, value)] : { [name]: bodyWith(rest, value) }
}

/** Why the platform refuses the field, whatever else the body lacks; undefined if it does not. */
function refusalOf(model: z.ZodType, path: Path, value: unknown): string | undefined {
  const { error } = safeParseModel(model, bodyWith(path, value))
  return error?.issues.find((issue) => path.every((part, at) => issue.path[at] === part))?.message
}

/** A list that has the same valid item twice. */
function listsOfTwo({ items }: DocumentedSchema, schemas: Schemas): unknown[][] {
  if (items === undefined) return []
  const valid = triedValues(plain(items, schemas) as never).filter((item) => isDocumented(item, items, schemas))
  return valid.slice(0, 1).map((item) => [item, item])
}

/** Spaces around some texts are removed before they are checked. */
const isPadded = (value: unknown) => typeof value === 'string' && value !== value.trim()

/** Enumerations are read in any case, and null is absent where nothing is required. */
function isTidied(value: unknown, { enum: choices = [] }: DocumentedSchema): boolean {
  if (typeof value !== 'string') return value === null
  return choices.some((one) => String(one).toLowerCase() === value.toLowerCase())
}

describe('the documents of bodies', () => {
  const { paths, components } = documentOf('all', SERVED_ROUTES) as Document
  const pathOf = documentedPaths(SERVED_ROUTES)
  const { schemas } = components
  const jsonOf = (route: Route) =>
    Object.entries(paths[pathOf(route)]?.[route.method.toLowerCase()]?.requestBody?.content ?? {}).find(([type]) =>
      type.endsWith('json'),
    )?.[1].schema

  /** `wide` accepts what the platform refuses, `narrow` refuses what it accepts. */
  function slipsOf({ path, schema }: Field, model: z.ZodType): string[] {
    const value = plain(schema, schemas)
    return [...triedValues(value as never), ...listsOfTwo(value, schemas)].flatMap((tried) => {
      const reason = refusalOf(model, path, tried)
      if (isDocumented(tried, schema, schemas) === (reason === undefined)) return []
      const isMeant = reason === undefined ? isTidied(tried, value) : MEANT.some((one) => one.test(reason))
      return isMeant || isPadded(tried) ? [] : [`${path.join('.')} ${JSON.stringify(tried)}: ${reason ?? 'accepted'}`]
    })
  }

  for (const route of SERVED_ROUTES) {
    const [schema, model] = [jsonOf(route), route.documentedBody ?? route.body]
    if (schema === undefined || model === undefined) continue
    it(`accept the same values as ${route.method} ${route.path}`, () => {
      expect(fieldsOf(schema, schemas).flatMap((field) => slipsOf(field, model))).to.deep.equal([])
    })
  }
})
