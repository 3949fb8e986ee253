import type { ZodOpenApiOverride } from 'zod-openapi'

/** Schemas as a document shows them, so that its readers and generators of clients understand them. */

/** On a body: its fields that may be absent, and not be null. */
export const NEVER_NULL = 'x-freehold-never-null'

type DocumentedSchema = Parameters<ZodOpenApiOverride>[0]['jsonSchema']

/** Records in bodies take no further fields; what holds the parameters of queries does. */
export const documentedSchema: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  sayForGenerators(jsonSchema)
  if (io === 'input' && jsonSchema.additionalProperties === false) allowNulls(jsonSchema)
}

/** To be repeated without harm: what a schema is made of may come after it, or before. */
function sayForGenerators(schema: DocumentedSchema): void {
  sayOrNull(schema)
  if (schema.pattern !== undefined) schema.pattern = portable(schema.pattern)
  if (schema.format === 'date-time' || schema.format === 'uuid') sayByFormatAlone(schema)
  if (String(schema.enum) === 'true,false') sayBoolean(schema)
  sayTypes(schema)
}

const SCALARS: readonly unknown[] = ['string', 'integer', 'number', 'boolean']

/**
 * A text or number that may be null is one type and null, of which no generator makes a record of its own. The default of
 * anything else stands beside the choice, where all look for it.
 */
function sayOrNull(schema: DocumentedSchema): void {
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

/** Not everybody who reads a document knows classes of Unicode in a pattern: blanks stand for what cannot be seen. */
const portable = (pattern: string) => pattern.replaceAll(/(\\p\{\w+\})+/g, '\\s')

/** They hold it as a time or an id, to which neither a pattern nor a length applies. */
function sayByFormatAlone(schema: DocumentedSchema): void {
  delete schema.pattern
  delete schema.maxLength
}

/** The words of a flag in a query are those of a boolean. */
function sayBoolean(schema: DocumentedSchema): void {
  schema.type = 'boolean'
  delete schema.enum
}

const INT32_MAX = 2 ** 31 - 1

/** They read a list of types as one and null, and a number without a format as one of 32 bits. */
function sayTypes(schema: DocumentedSchema): void {
  const types = [schema.type ?? []].flat()
  if (types.includes('number')) schema.format = 'double'
  if (types.includes('integer') && (schema.maximum ?? Number.POSITIVE_INFINITY) > INT32_MAX) schema.format = 'int64'
  if (types.filter((type) => type !== 'null').length < 2) return
  schema.anyOf = types.map((type) => (type === 'number' ? { type, format: 'double' } : { type }))
  delete schema.type
  delete schema.format
}

/** Null is the same as absent in a body, where a field may be absent (ADR "What a body leaves out"). */
function allowNulls(schema: DocumentedSchema & { [NEVER_NULL]?: readonly string[] }): void {
  const { properties = {}, required = [], [NEVER_NULL]: others = [] } = schema
  for (const [name, property] of Object.entries(properties)) {
    if (!required.includes(name) && !others.includes(name)) properties[name] = nullable(property)
  }
}

function nullable(schema: DocumentedSchema | boolean): DocumentedSchema | boolean {
  if (typeof schema === 'boolean' || isNullable(schema) || schema.readOnly === true) return schema
  const { description, default: byDefault, ...value } = schema
  sayForGenerators(value)
  const either: DocumentedSchema = {
    anyOf: [value, { type: 'null' }],
    ...(description !== undefined && { description }),
    ...(byDefault !== undefined && { default: byDefault }),
  }
  sayOrNull(either)
  return either
}

/** What says nothing of its type may be null. */
function isNullable({ type, anyOf, oneOf, allOf, $ref, const: only }: DocumentedSchema): boolean {
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const either = anyOf ?? oneOf
  if (either !== undefined) return either.some((one) => typeof one === 'object' && isNullable(one as DocumentedSchema))
  return allOf === undefined && $ref === undefined && only === undefined
}
