import type { z } from 'zod'
import { type ErrorCode, type FieldError, PlatformError } from '../../core/errors.ts'

/** Issues that mean the text could not be read as the model; every other one means it was read and is not allowed. */
function isBinding(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_type' || issue.code === 'unrecognized_keys' || issue.code === 'invalid_union') return true
  return issue.code === 'invalid_format' && ['uuid', 'guid', 'datetime', 'date', 'base64'].includes(issue.format)
}

const SHOWN_MAX = 20

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: [...path, key].join('.').slice(0, 200),
      message: 'is not a field of this record',
    }))
  }
  return [{ field: path.join('.').slice(0, 200), message: messageOf(issue) }]
}

/** Zod's own words are good; those that would repeat the input are not, as it may hold a secret. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined ? `is required (${issue.expected})` : `must be ${issue.expected}`
  }
  return issue.message
}

/**
 * Reads a value as a model, or says for each field why not.
 *
 * @throws PlatformError MODEL_BINDING_FAILED for wrong types, missing and unknown fields; BAD_REQUEST for values that
 *   are out of bounds
 */
export function readModel<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issues } = result.error
  const code: ErrorCode = issues.some(isBinding) ? 'MODEL_BINDING_FAILED' : 'BAD_REQUEST'
  const errors = issues.flatMap(fieldErrors).slice(0, SHOWN_MAX)
  const [first] = errors
  const where = first === undefined || first.field === '' ? 'The body' : `The field "${first.field}"`
  throw new PlatformError(code, `${where} was refused: ${first?.message ?? 'not valid'}.`, { errors })
}
