import { z } from 'zod'
import { isRecord } from '../../core/isRecord.ts'
import { unwrapSchema } from '../../core/unwrapSchema.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { modelBindingFailure, safeParseModel } from '../http/model.ts'
import { isEqual } from './mergePatch.ts'

type Path = readonly PropertyKey[]
type Issue = z.core.$ZodIssue

/**
 * Returns a value with its defaults. What an earlier version accepted is not validated again while it stays as stored.
 *
 * @param previous what is stored; undefined for a new object
 * @param stored the schema of what is stored, which says by which key lists are merged
 * @throws PlatformError like `readModel`, for what has changed
 */
export function readChanged<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  previous: unknown,
  stored: z.ZodType = schema,
): z.output<Schema> {
  const result = safeParseModel(schema, value)
  if (result.success) return result.data
  const issues = result.error.issues.filter(
    (issue) => previous === undefined || !isKept(stored, comparedPath(issue), value, previous),
  )
  if (issues.length > 0) throw modelBindingFailure(schema, issues)
  return withDefaults(schema, value)
}

/**
 * Whether the value at a refused path is as it was stored. As in the API server (KEP-4008), items of a list are matched
 * by its merge key. In other lists, and if nothing was stored at the path, the value around it must be unchanged.
 */
export function isKept(schema: z.ZodType, [name, ...rest]: Path, next: unknown, previous: unknown): boolean {
  const part = name === undefined ? undefined : partOf(unwrapSchema(schema), name, next, previous)
  return part === undefined ? isEqual(next, previous) : isKept(part.schema, rest, part.next, part.previous)
}

type Part = { schema: z.ZodType; next: unknown; previous: unknown }

/** Returns the part of a value and what was stored in its place; undefined if either is missing. */
function partOf(schema: z.ZodType, name: PropertyKey, next: unknown, previous: unknown): Part | undefined {
  const found = isRecord(next) && isRecord(previous) ? fieldOf(schema, String(name), next, previous) : undefined
  const part = Array.isArray(next) && Array.isArray(previous) ? itemOf(schema, Number(name), next, previous) : found
  return (part?.next ?? null) === null || (part?.previous ?? null) === null ? undefined : part
}

function fieldOf(schema: z.ZodType, name: string, next: Record<string, unknown>, previous: Record<string, unknown>) {
  const fields: Record<string, z.ZodType> = schema instanceof z.ZodObject ? schema.shape : {}
  const field = schema instanceof z.ZodRecord ? (schema.valueType as z.ZodType) : fields[name]
  return field && { schema: field, next: next[name], previous: previous[name] }
}

function itemOf(schema: z.ZodType, at: number, next: readonly unknown[], previous: readonly unknown[]) {
  if (!(schema instanceof z.ZodArray)) return undefined
  const { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys } = schema.meta() ?? {}
  const keyOf = (item: unknown) => (keys as string[]).map((key) => (isRecord(item) ? item[key] : undefined))
  const before = type === 'map' ? previous.find((item) => isEqual(keyOf(item), keyOf(next[at]))) : undefined
  return { schema: schema.element as z.ZodType, next: next[at], previous: before }
}

/** A missing field, or an invalid key of an entry, is compared together with the object that it belongs to. */
function comparedPath({ code, input, path }: Issue): Path {
  const isOfParent = code === 'invalid_key' || (code === 'invalid_type' && input === undefined)
  return isOfParent ? path.slice(0, -1) : path
}
