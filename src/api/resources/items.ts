import { z } from 'zod'
import { withElement } from '../../core/withElement.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { ResourceView } from './types.ts'

/** Fields that answers compute for each item of a list, and that bodies may repeat without effect. */
export type ItemFields<K extends AnyKind> = Readonly<
  Record<
    string,
    readonly [schema: z.ZodType, of: (item: Readonly<Record<string, unknown>>, view: ResourceView<K>) => unknown]
  >
>

/** Unwraps the schema of a field. The wrappers say whether the field may be absent. */
export function withoutWrappers(schema: z.ZodType): { value: z.ZodType; isOptional: boolean; hasDefault: boolean } {
  let [value, isOptional, hasDefault] = [schema, false, false]
  while (value instanceof z.ZodOptional || value instanceof z.ZodDefault || value instanceof z.ZodPrefault) {
    if (value instanceof z.ZodOptional) isOptional = true
    else hasDefault = true
    value = value.unwrap() as z.ZodType
  }
  return { value, isOptional, hasDefault }
}

const described = (schema: z.ZodType, from: z.ZodType) =>
  from.description === undefined ? schema : schema.describe(from.description)

const fieldsOf = (schema: z.ZodObject) => Object.entries(schema.shape as Record<string, z.ZodType>)

type Unwrapped = ReturnType<typeof withoutWrappers>

/** Maps every field of a list or record with `unwrapField`, at any depth. */
function mapFields(
  schema: z.ZodType,
  recordOf: (shape: Record<string, z.ZodType>) => z.ZodObject,
  fieldOf: (value: z.ZodType, unwrapped: Unwrapped) => z.ZodType,
): z.ZodType {
  if (schema instanceof z.ZodArray)
    return withElement(schema, mapFields(schema.element as z.ZodType, recordOf, fieldOf))
  if (!(schema instanceof z.ZodObject)) return schema
  const fields = fieldsOf(schema).map(([name, field]) => {
    const unwrapped = withoutWrappers(field)
    return [name, described(fieldOf(mapFields(unwrapped.value, recordOf, fieldOf), unwrapped), field)]
  })
  return recordOf(Object.fromEntries(fields))
}

/** Returns the schema of a list or record in bodies: whatever has a default or may be absent may be null too. */
export function writtenSchema(schema: z.ZodType): z.ZodType {
  return mapFields(schema, z.strictObject, (value, { isOptional, hasDefault }) =>
    isOptional || hasDefault ? value.nullish() : value,
  )
}

/** Returns the schema of a list or record in answers: every field is present, but may be null. */
export function shownSchema(schema: z.ZodType): z.ZodType {
  return mapFields(schema, z.object, (value, { isOptional }) => (isOptional ? value.nullable() : value))
}

/** Returns the value of such a list or record for an answer. */
export function shownValue(schema: z.ZodType, value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (schema instanceof z.ZodArray)
    return (value as unknown[]).map((item) => shownValue(schema.element as z.ZodType, item))
  if (!(schema instanceof z.ZodObject)) return value
  const record = value as Record<string, unknown>
  return Object.fromEntries(
    fieldsOf(schema).map(([name, field]) => [name, shownValue(withoutWrappers(field).value, record[name])]),
  )
}

/** The schema of a list with more fields in each item. */
export function withItemFields(schema: z.ZodType, more: Readonly<Record<string, z.ZodType>>): z.ZodType {
  if (!(schema instanceof z.ZodArray) || !(schema.element instanceof z.ZodObject)) return schema
  return withElement(schema, schema.element.extend(more))
}
