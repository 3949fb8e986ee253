import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { unwrapSchema } from '../../core/unwrapSchema.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { readModel } from '../http/model.ts'
import { NEVER_NULL } from '../http/openapiSchemas.ts'
import { ignoredFields } from './dto.ts'

/**
 * The schema of a write that accepts the answer of a read: `body`, and the record's other fields, which are ignored.
 *
 * @param dto the record that answers hold
 */
export function withIgnoredReadFields(body: z.ZodObject, dto: z.ZodObject): z.ZodObject {
  const repeated = Object.keys(dto.shape).filter((name) => !Object.hasOwn(body.shape, name))
  return withBodyId(body, body.extend(ignoredFields(repeated)), READ_FIELDS_BODIES)
}

/** Names the derived body once: two collections may share a body, and a document has one schema for each name. */
function withBodyId(body: z.ZodObject, made: z.ZodObject, known: WeakMap<z.ZodObject, z.ZodObject>): z.ZodObject {
  const id = body.meta()?.id
  if (id === undefined) return made
  const named = known.get(body) ?? made.meta({ id })
  known.set(body, named)
  return named
}

/** Returns a body whose fields take the descriptions of the kind's fields unless they have their own. */
export function withKindDescriptions<Body extends z.ZodType>(body: Body, kind: Pick<AnyKind, 'spec'>): Body {
  if (!(body instanceof z.ZodObject)) return body
  const described = Object.entries(body.shape as Record<string, z.ZodType>).flatMap(([name, schema]) => {
    const description = kind.spec.shape[name]?.description?.replace(/; immutable$/, '')
    if (schema.description !== undefined || description === undefined) return []
    return [[name, schema.meta({ ...schema.meta(), description })] as const]
  })
  return withBodyId(body, body.safeExtend(Object.fromEntries(described)), WRITTEN_BODIES) as unknown as Body
}

/**
 * Returns the body schema of a route that may write an existing object. Unknown names are refused as in every body,
 * before anything is looked up; values can be checked only against the stored object.
 */
export function bodyOverStored(record: z.ZodObject, documentedBody = record) {
  const names = Object.keys(record.shape).map((name) => [name, z.unknown().optional()])
  return {
    body: z.strictObject(Object.fromEntries(names) as Record<string, z.ZodOptional<z.ZodUnknown>>),
    documentedBody,
  }
}

/** Wraps the handler of such a route. If the named object does not exist, the body is checked like any other. */
export function checkingBodyOn404<Result>(record: z.ZodType, handle: (context: Context) => Promise<Answer<Result>>) {
  return async (context: Context): Promise<Answer<Result>> => {
    try {
      return await handle(context)
    } catch (error) {
      if (error instanceof PlatformError && error.status === 404) readModel(record, context.body)
      throw error
    }
  }
}

/** Like `bodyOverStored`, for a route with a merge patch (RFC 7396). */
export function mergePatchBody(record: z.ZodObject) {
  return {
    ...bodyOverStored(record, mergePatchOf(record)),
    mediaTypes: ['application/merge-patch+json', 'application/json'],
  }
}

const READ_FIELDS_BODIES = new WeakMap<z.ZodObject, z.ZodObject>()
const WRITTEN_BODIES = new WeakMap<z.ZodObject, z.ZodObject>()

/** Returns a merge patch (RFC 7396) of such a body: any part of it, where null sets the default or removes a name. */
export function mergePatchOf(body: z.ZodObject): z.ZodObject {
  const fields = Object.entries(body.shape as Record<string, z.ZodType>)
  const isNeeded = (part: z.ZodType) => !part.safeParse(undefined).success
  const kept = fields.filter(([, part]) => isNeeded(part)).map(([name]) => name)
  const patch = z.strictObject(Object.fromEntries(fields.map(([name, part]) => [name, partOf(part, isNeeded(part))])))
  return kept.length === 0 ? patch : patch.meta({ [NEVER_NULL]: kept })
}

function partOf(schema: z.ZodType, isNeeded: boolean): z.ZodType {
  const { readOnly, description } = schema.meta() ?? {}
  if (readOnly === true) return schema
  const value = unwrapSchema(schema)
  const part = value instanceof z.ZodRecord ? z.record(z.string(), (value.valueType as z.ZodType).nullable()) : value
  const patched = isNeeded ? part.optional() : part.nullish()
  return description === undefined ? patched : patched.describe(description)
}
