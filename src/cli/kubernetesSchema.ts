import { isRecord } from '../core/isRecord.ts'
import { suggestion } from '../core/suggestion.ts'

/** The part of the API server's schemas (`/openapi/v3/...`) that is used here. */
export type Schema = {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[]
}
export type Schemas = Readonly<Record<string, Schema>>

/** Finds the schema of a kind. */
export function schemaOfKind(schemas: Schemas, apiVersion: string, kind: string): Schema | undefined {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (each) => each.kind === kind && each.group === group && each.version === version,
    ),
  )
}

/** Returns a sentence per unknown field: `spec.replcas is not a field; did you mean "replicas"?`. */
export function unknownFields(document: unknown, schema: Schema, schemas: Schemas): string[] {
  return unknownFieldsIn(document, schema, schemas, '')
}

function unknownFieldsIn(value: unknown, given: Schema, schemas: Schemas, path: string): string[] {
  const schema = resolveReference(given, schemas)
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return []
    return value.flatMap((item, at) => unknownFieldsIn(item, items, schemas, `${path}[${at}]`))
  }
  if (!isRecord(value)) return []
  const { properties, additionalProperties } = schema
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties === true
  return Object.entries(value).flatMap(([name, content]) => {
    const fieldPath = path === '' ? name : `${path}.${name}`
    const fieldSchema =
      properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (fieldSchema !== undefined) return unknownFieldsIn(content, fieldSchema, schemas, fieldPath)
    if (isOpen || properties === undefined) return []
    return [`${fieldPath} is not a field of this kind${suggestion(name, Object.keys(properties)) || '.'}`]
  })
}

/** Resolves a reference, which may be wrapped in `allOf` to add a description. */
function resolveReference(schema: Schema, schemas: Schemas): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (reference === undefined) return schema
  return schemas[reference.split('/').at(-1) ?? ''] ?? {}
}
