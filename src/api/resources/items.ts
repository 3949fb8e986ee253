import { z } from 'zod'
import type { AnyKind } from '../../crds/define.ts'
import type { ResourceView } from './types.ts'

/** Fields that answers compute for each item of a list, and that bodies may repeat without effect. */
export type ItemFields<K extends AnyKind> = Readonly<
  Record<
    string,
    readonly [schema: z.ZodType, of: (item: Readonly<Record<string, unknown>>, view: ResourceView<K>) => unknown]
  >
>

function withoutWrappers(schema: z.ZodType): { value: z.ZodType; mayBeAbsent: boolean; isNull: boolean } {
  let [value, mayBeAbsent, isNull] = [schema, false, false]
  while (value instanceof z.ZodOptional || value instanceof z.ZodDefault || value instanceof z.ZodPrefault) {
    mayBeAbsent = true
    if (value instanceof z.ZodOptional) isNull = true
    value = value.unwrap() as z.ZodType
  }
  return { value, mayBeAbsent, isNull }
}

const described = (schema: z.ZodType, from: z.ZodType) =>
  from.description === undefined ? schema : schema.describe(from.description)

const fieldsOf = (schema: z.ZodObject) => Object.entries(schema.shape as Record<string, z.ZodType>)

/** A list or record as bodies may hold it: whatever has a default or may be absent may be null too. */
export function writtenSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodArray)
    return schema.clone({ ...schema.def, element: writtenSchema(schema.element as z.ZodType) as never })
  if (!(schema instanceof z.ZodObject)) return schema
  return z.strictObject(
    Object.fromEntries(
      fieldsOf(schema).map(([name, field]) => {
        const { value, mayBeAbsent } = withoutWrappers(field)
        const written = writtenSchema(value)
        return [name, described(mayBeAbsent ? written.nullish() : written, field)]
      }),
    ),
  )
}

/** A list or record as answers hold it: every field is there, null included. */
export function shownSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodArray)
    return schema.clone({ ...schema.def, element: shownSchema(schema.element as z.ZodType) as never })
  if (!(schema instanceof z.ZodObject)) return schema
  return z.object(
    Object.fromEntries(
      fieldsOf(schema).map(([name, field]) => {
        const { value, isNull } = withoutWrappers(field)
        const shown = shownSchema(value)
        return [name, described(isNull ? shown.nullable() : shown, field)]
      }),
    ),
  )
}

/** The value of such a list or record in an answer. */
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
  return schema.clone({ ...schema.def, element: schema.element.extend(more) as never })
}
