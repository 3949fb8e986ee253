import type { ZodOpenApiOverride } from 'zod-openapi'

/** Adapts schemas so that readers and generators of clients understand them. */

/** On a body: fields that may be absent, but not null. */
export const NEVER_NULL = 'x-freehold-never-null'

type DocumentedSchema = Parameters<ZodOpenApiOverride>[0]['jsonSchema']

/** Allows nulls in records of bodies, which differ from the object of query parameters by taking no further fields. */
export const documentedSchema: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  normalizeSchema(jsonSchema)
  if (io !== 'input' || jsonSchema.additionalProperties !== false) return
  omitClashingFlags(jsonSchema)
  allowNulls(jsonSchema)
}

/** Go clients have a method `HasX` for each optional field `x`, so a body cannot also have a field `hasX`, as read. */
function omitClashingFlags({ properties = {} }: DocumentedSchema): void {
  for (const name of Object.keys(properties)) {
    const field = /^has([A-Z])(.*)/.exec(name)
    if (field !== null && Object.hasOwn(properties, `${field[1]?.toLowerCase()}${field[2]}`)) delete properties[name]
  }
}

/** What only the API server reads; of it, readers of documents know sets. */
function translateExtensions(schema: DocumentedSchema): void {
  const all = schema as Record<string, unknown>
  if (all['x-kubernetes-list-type'] === 'set') schema.uniqueItems = true
  for (const name of Object.keys(all)) if (name.startsWith('x-kubernetes-')) delete all[name]
}

/** Idempotent, because the parts of a schema may be visited before or after it. */
function normalizeSchema(schema: DocumentedSchema): void {
  mergeNullChoice(schema)
  translateExtensions(schema)
  if (schema.pattern !== undefined) schema.pattern = portablePattern(schema.pattern)
  if (schema.format === 'date-time' || schema.format === 'uuid') keepFormatOnly(schema)
  if (String(schema.enum) === 'true,false') setBooleanType(schema)
  normalizeTypes(schema)
}

const SCALARS: readonly unknown[] = ['string', 'integer', 'number', 'boolean']

/**
 * Writes a nullable text or number as a list of two types, of which no generator makes a record of its own. The default
 * of anything else moves beside the choice, where all generators look for it.
 */
function mergeNullChoice(schema: DocumentedSchema): void {
  const [value, nothing, ...others] = schema.anyOf ?? []
  if (typeof value !== 'object' || typeof nothing !== 'object' || nothing.type !== 'null' || others.length > 0) return
  if (SCALARS.includes(value.type) && value.enum === undefined && value.const === undefined) {
    delete schema.anyOf
    Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] })
  } else if (value.default !== undefined) {
    schema.default ??= value.default
    delete value.default
  }
}

/** Some readers of documents do not know Unicode classes in patterns: `\s` stands in for the invisible characters. */
const portablePattern = (pattern: string) => pattern.replaceAll(/(\\p\{\w+\})+/g, '\\s')

/** Generators represent it as a time or an id, to which neither a pattern nor a length applies. */
function keepFormatOnly(schema: DocumentedSchema): void {
  delete schema.pattern
  delete schema.maxLength
}

/** A flag of a query takes the words of a boolean. */
function setBooleanType(schema: DocumentedSchema): void {
  schema.type = 'boolean'
  delete schema.enum
}

const INT32_MAX = 2 ** 31 - 1

/** Generators read a list of types as one type and null, and a number without a format as 32 bits. */
function normalizeTypes(schema: DocumentedSchema): void {
  const types = [schema.type ?? []].flat()
  if (types.includes('number')) schema.format = 'double'
  if (types.includes('integer') && (schema.maximum ?? Number.POSITIVE_INFINITY) > INT32_MAX) schema.format = 'int64'
  if (types.filter((type) => type !== 'null').length < 2) return
  schema.anyOf = types.map((type) => (type === 'number' ? { type, format: 'double' } : { type }))
  delete schema.type
  delete schema.format
}

/** In a body, null means the same as absent if the field is optional (ADR "What a body leaves out"). */
function allowNulls(schema: DocumentedSchema & { [NEVER_NULL]?: readonly string[] }): void {
  const { properties = {}, required = [], [NEVER_NULL]: others = [] } = schema
  for (const [name, property] of Object.entries(properties)) {
    if (!required.includes(name) && !others.includes(name)) properties[name] = nullable(property)
  }
}

function nullable(schema: DocumentedSchema | boolean): DocumentedSchema | boolean {
  if (typeof schema === 'boolean' || isNullable(schema) || schema.readOnly === true) return schema
  const { description, default: byDefault, ...value } = schema
  normalizeSchema(value)
  const either: DocumentedSchema = {
    anyOf: [value, { type: 'null' }],
    ...(description !== undefined && { description }),
    ...(byDefault !== undefined && { default: byDefault }),
  }
  mergeNullChoice(either)
  return either
}

/** A schema that says nothing about its type allows null. */
function isNullable({ type, anyOf, oneOf, allOf, $ref, const: only }: DocumentedSchema): boolean {
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const either = anyOf ?? oneOf
  if (either !== undefined) return either.some((one) => typeof one === 'object' && isNullable(one as DocumentedSchema))
  return allOf === undefined && $ref === undefined && only === undefined
}
