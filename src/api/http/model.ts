import type { z } from 'zod'
import { type ErrorCode, type FieldError, firstReason, PlatformError } from '../../core/errors.ts'
import { isForbiddenOutgoingUrl } from '../../core/outgoingUrl.ts'
import { describeIssue, withoutWiderBounds } from '../../core/schemaIssues.ts'
import { recordsAt, unknownFieldReason } from '../../core/unknownField.ts'

type Issue = z.core.$ZodIssue

/** Formats that make a text unreadable if it lacks them, as opposed to rules that it may break. */
const BINDING_FORMATS = ['uuid', 'guid', 'datetime', 'date', 'base64']

/** Whether an issue means that the text could not be read as the model; otherwise it was read, but is not allowed. */
function isBinding(issue: Issue): boolean {
  if (issue.code === 'invalid_type' || issue.code === 'unrecognized_keys' || issue.code === 'invalid_union') return true
  if (issue.code === 'invalid_value') return typeof issue.input !== 'string'
  return issue.code === 'invalid_format' && BINDING_FORMATS.includes(issue.format)
}

const ERRORS_MAX = 20

/** Says where else an unknown field of a body can be changed. */
export type FieldHint = (field: string) => string | undefined

function fieldErrors(schema: z.ZodType, issue: Issue, hint?: FieldHint): FieldError[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, ERRORS_MAX).map((key) => ({
      field: [...path, key].join('.').slice(0, 200),
      message: (path.length === 0 ? hint?.(key) : undefined) ?? unknownFieldReason(schema, issue.path, key),
    }))
  }
  return [{ field: path.join('.').slice(0, 200), message: describeIssue(issue) }]
}

/**
 * Reads a value as a model, or throws with a reason for each field. Enumerations are read without regard to case.
 *
 * @throws PlatformError MODEL_BINDING_FAILED for wrong types, missing and unknown fields, malformed uuids and dates;
 *   URL_NOT_ALLOWED for addresses that are never called; BAD_REQUEST for other values that are out of bounds
 */
export function readModel<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  hint?: FieldHint,
): z.output<Schema> {
  const result = safeParseModel(schema, value)
  if (result.success) return result.data
  throw modelBindingFailure(schema, result.error.issues, hint)
}

/** Returns what `readModel` throws for these issues. */
export function modelBindingFailure(schema: z.ZodType, issues: readonly Issue[], hint?: FieldHint): PlatformError {
  const errors = withoutWiderBounds(issues)
    .slice(0, ERRORS_MAX)
    .flatMap((issue) => fieldErrors(schema, issue, hint))
    .slice(0, ERRORS_MAX)
  if (issues.every(isForbiddenUrl))
    return new PlatformError('URL_NOT_ALLOWED', firstReason(errors), { ...errors[0], errors })
  const code: ErrorCode = issues.some(isBinding) ? 'MODEL_BINDING_FAILED' : 'BAD_REQUEST'
  return new PlatformError(code, firstReason(errors), { errors })
}

/** Whether an address is well-formed, but one that the platform never calls. */
function isForbiddenUrl(issue: Issue): boolean {
  return issue.code === 'invalid_format' && isForbiddenOutgoingUrl(issue.pattern, issue.input)
}

/** Reads a value; enumerations without regard to case, and null as absent for optional fields. */
export function safeParseModel<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const read = (given: unknown) => schema.safeParse(given, { reportInput: true })
  const first = read(value)
  if (first.success) return first
  const { issues } = first.error
  const nulls = issues.filter((issue) => isNullField(schema, issue)).map(({ path }) => path)
  const normalized = withCaseOfChoices(value, issues)
  if (nulls.length === 0) return normalized === undefined ? first : read(normalized)
  const result = read(withoutFields(normalized ?? value, nulls))
  if (result.success) return result
  // A required field stays null, so that the refusal describes what was sent.
  const missing = new Set(result.error.issues.map(({ path }) => path.join('.')))
  const absent = nulls.filter((path) => !missing.has(path.join('.')))
  return read(withoutFields(normalized ?? value, absent))
}

/** Whether an issue is about a null field. Entries of a map are not fields: there, null is a value. */
function isNullField(schema: z.ZodType, { code, input, path }: Issue): boolean {
  const [name] = path.slice(-1)
  if (code === 'unrecognized_keys' || input !== null || typeof name !== 'string') return false
  return recordsAt(schema, path.slice(0, -1)).some(({ shape }) => Object.hasOwn(shape, name))
}

function withoutFields(value: unknown, paths: readonly (readonly PropertyKey[])[]): unknown {
  const copy = structuredClone(value)
  for (const path of paths) {
    let holder = copy as Record<PropertyKey, unknown>
    for (const name of path.slice(0, -1)) holder = holder[name] as Record<PropertyKey, unknown>
    delete holder[path.at(-1) ?? '']
  }
  return copy
}

/** Returns the value with enumerated texts in their declared case; undefined if none differs by case alone. */
function withCaseOfChoices(value: unknown, issues: readonly Issue[]): unknown {
  let copy: unknown
  for (const issue of issues) {
    if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') continue
    const wanted = issue.input.toLowerCase()
    const choice = issue.values.find((known) => typeof known === 'string' && known.toLowerCase() === wanted)
    if (choice === undefined) continue
    copy ??= structuredClone(value)
    copy = setAtPath(copy, issue.path, choice)
  }
  return copy
}

function setAtPath(target: unknown, [name, ...rest]: readonly PropertyKey[], value: unknown): unknown {
  if (name === undefined) return value
  const holder = target as Record<PropertyKey, unknown>
  holder[name] = setAtPath(holder[name], rest, value)
  return holder
}
