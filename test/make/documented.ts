import { z } from 'zod'

/** A schema of the OpenAPI documents, as far as bodies use it. */
export type DocumentedSchema = {
  $ref?: string
  type?: string | string[]
  format?: string
  anyOf?: DocumentedSchema[]
  allOf?: DocumentedSchema[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  maxProperties?: number
  propertyNames?: DocumentedSchema
  items?: DocumentedSchema
  properties?: Record<string, DocumentedSchema>
  required?: string[]
  additionalProperties?: boolean | DocumentedSchema
  readOnly?: boolean
}
export type Schemas = Readonly<Record<string, DocumentedSchema>>

const FORMATS: Readonly<Record<string, z.ZodType>> = {
  'date-time': z.iso.datetime({ offset: true }),
  uuid: z.string().toLowerCase().guid(),
}

export const dereferenced = (schema: DocumentedSchema, schemas: Schemas): DocumentedSchema =>
  schema.$ref === undefined ? schema : dereferenced(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, schemas)

/** Whether a value is valid by a schema of the documents. */
export function isDocumented(value: unknown, given: DocumentedSchema, schemas: Schemas): boolean {
  const schema = dereferenced(given, schemas)
  const { anyOf, allOf = [], type, enum: choices, const: only } = schema
  if (!allOf.every((one) => isDocumented(value, one, schemas))) return false
  if (anyOf !== undefined) return anyOf.some((one) => isDocumented(value, one, schemas))
  if (type !== undefined && ![type].flat().some((name) => isOfType(value, name))) return false
  if (choices !== undefined && !choices.includes(value)) return false
  if (only !== undefined && only !== value) return false
  if (typeof value === 'string') return isText(value, schema)
  if (typeof value === 'number') return isNumber(value, schema)
  if (Array.isArray(value)) return isList(value, schema, schemas)
  return typeof value !== 'object' || value === null || isRecord(value as Record<string, unknown>, schema, schemas)
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return type === 'object' ? isObject : typeof value === type
}

function isText(
  text: string,
  { minLength = 0, maxLength = Infinity, pattern, format = '' }: DocumentedSchema,
): boolean {
  const { length } = [...text]
  if (length < minLength || length > maxLength) return false
  if (pattern !== undefined && !new RegExp(pattern).test(text)) return false
  return FORMATS[format]?.safeParse(text).success ?? true
}

function isNumber(number: number, schema: DocumentedSchema): boolean {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (number < minimum || number > maximum) return false
  if (exclusiveMinimum !== undefined && number <= exclusiveMinimum) return false
  if (exclusiveMaximum !== undefined && number >= exclusiveMaximum) return false
  return multipleOf === undefined || number % multipleOf === 0
}

function isList(list: readonly unknown[], schema: DocumentedSchema, schemas: Schemas): boolean {
  const { minItems = 0, maxItems = Infinity, uniqueItems, items } = schema
  if (list.length < minItems || list.length > maxItems) return false
  if (uniqueItems === true && new Set(list.map((item) => JSON.stringify(item))).size < list.length) return false
  return items === undefined || list.every((item) => isDocumented(item, items, schemas))
}

function isRecord(record: Record<string, unknown>, schema: DocumentedSchema, schemas: Schemas): boolean {
  const { properties = {}, required = [], additionalProperties = true, maxProperties = Infinity } = schema
  const names = Object.keys(record)
  const { propertyNames = {} } = schema
  if (!names.every((name) => isDocumented(name, propertyNames, schemas))) return false
  if (names.length > maxProperties || required.some((name) => !Object.hasOwn(record, name))) return false
  return names.every((name) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    return typeof known === 'object' ? isDocumented(record[name], known, schemas) : known === true
  })
}
