import type { ZodOpenApiOverride } from 'zod-openapi'

/** Schemas as a document shows them, so that its readers and generators of clients understand them. */

type DocumentedSchema = Parameters<ZodOpenApiOverride>[0]['jsonSchema']

/** Records in bodies take no further fields; what holds the parameters of queries does. */
export const documentedSchema: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portable(jsonSchema.pattern)
  sayForGenerators(jsonSchema)
  if (io === 'input' && jsonSchema.additionalProperties === false) allowNulls(jsonSchema)
}

/** Not everybody who reads a document knows classes of Unicode in a pattern: blanks stand for what cannot be seen. */
const portable = (pattern: string) => pattern.replaceAll(/(\\p\{\w+\})+/g, '\\s')

const INT32_MAX = 2 ** 31 - 1

/** Generators of clients read a list of types as one and null, and a number without a format as one of 32 bits. */
function sayForGenerators(schema: DocumentedSchema): void {
  if (schema.format === 'date-time' || schema.format === 'uuid') sayByFormatAlone(schema)
  if (String(schema.enum) === 'true,false') sayBoolean(schema)
  sayDefaultOutside(schema)
  const types = [schema.type ?? []].flat()
  if (types.includes('number')) schema.format = 'double'
  if (types.includes('integer') && (schema.maximum ?? Number.POSITIVE_INFINITY) > INT32_MAX) schema.format = 'int64'
  if (types.filter((type) => type !== 'null').length < 2) return
  schema.anyOf = types.map((type) => (type === 'number' ? { type, format: 'double' } : { type }))
  delete schema.type
  delete schema.format
}

function nullable(schema: DocumentedSchema | boolean): DocumentedSchema | boolean {
  if (typeof schema === 'boolean' || isNullable(schema) || schema.readOnly === true) return schema
  const { description, default: byDefault, ...value } = schema
  return {
    anyOf: [value, { type: 'null' }],
    ...(description !== undefined && { description }),
    ...(byDefault !== undefined && { default: byDefault }),
  }
}

/** What says nothing of its type may be null. */
function isNullable({ type, anyOf, oneOf, allOf, $ref, const: only }: DocumentedSchema): boolean {
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const either = anyOf ?? oneOf
  if (either !== undefined) return either.some((one) => typeof one === 'object' && isNullable(one as DocumentedSchema))
  return allOf === undefined && $ref === undefined && only === undefined
}

/** Null is the same as absent in a body, where a field may be absent (ADR "What a body leaves out"). */
function allowNulls({ properties = {}, required = [] }: DocumentedSchema): void {
  for (const [name, property] of Object.entries(properties)) {
    if (!required.includes(name)) properties[name] = nullable(property)
  }
}

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

/** The default of a value that may be null stands beside the choice, where all look for it, not within. */
function sayDefaultOutside(schema: DocumentedSchema): void {
  const [value, nothing, ...others] = schema.anyOf ?? []
  if (typeof value !== 'object' || typeof nothing !== 'object' || nothing.type !== 'null' || others.length > 0) return
  if (value.default === undefined) return
  schema.default ??= value.default
  delete value.default
}
