import { resourceNameRule } from './names.ts'
import { REFUSALS } from './refusals.ts'

export type ErrorCode = keyof typeof REFUSALS

export const ERROR_STATUS = Object.fromEntries(
  Object.entries(REFUSALS).map(([code, [status]]) => [code, status]),
) as Readonly<Record<ErrorCode, number>>

/** A rejected field of a body: its dotted path, and why it was rejected. */
export type FieldError = { field: string; message: string }

/**
 * A refusal or failure that a caller may see: a stable code, one sentence (what failed, where, for which input, what
 * to do) and extra top-level fields of the error body. Nothing secret and no text of another system goes in.
 */
export class PlatformError extends Error {
  readonly code: ErrorCode
  readonly extras: Readonly<Record<string, unknown>>
  readonly status: number

  /** @param options `status` if one route answers a code with a different status than all others */
  constructor(
    code: ErrorCode,
    message: string,
    extras: Record<string, unknown> = {},
    options: { cause?: unknown; status?: number } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'PlatformError'
    this.code = code
    this.extras = extras
    this.status = options.status ?? ERROR_STATUS[code]
  }
}

/** 400 for a body or query that is readable but not allowed, naming each field. */
export function badRequest(message: string, errors: FieldError[]): PlatformError {
  return new PlatformError('BAD_REQUEST', message, { errors })
}

/** Runs a check of one part of a body, and prefixes the fields that it refuses with the path of that part. */
export function withFieldPrefix<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withRenamedFields(error, (field) => `${path}.${field}`)
  }
}

/** Returns the same refusal, with its fields renamed to what the caller knows. */
export function withRenamedFields(error: unknown, nameOf: (field: string) => string): unknown {
  if (!(error instanceof PlatformError)) return error
  const { code, extras, message } = error
  const before = extras.errors as FieldError[] | undefined
  const errors = before?.map((one) => ({ ...one, ...withoutFieldName(one), field: nameOf(one.field) }))
  const field = typeof extras.field === 'string' && { field: nameOf(extras.field) }
  const isOfFields = before !== undefined && before.length > 0 && message === firstReason(before)
  const renamed = isOfFields && errors !== undefined ? firstReason(errors) : withSubject(message, extras.field, nameOf)
  return new PlatformError(code, renamed, { ...extras, ...field, ...(errors && { errors }) }, { cause: error })
}

/** Replaces the name of the field in the sentence of a rule. */
function withSubject(message: string, field: unknown, nameOf: (field: string) => string): string {
  const subject = `The field "${field}" `
  if (typeof field !== 'string' || !message.startsWith(subject)) return message
  return `The field "${nameOf(field)}" ${message.slice(subject.length)}`
}

/** 400 for an invalid name of a new object in a path. */
export function invalidName(name: string, minLength?: number): PlatformError {
  const message = resourceNameRule(minLength)
  return badRequest(`"${name.slice(0, 64)}" is not a valid name: it ${message}.`, [{ field: 'name', message }])
}

/** A `badRequest` whose message is the reason of the first field. */
export function refusedFields(errors: FieldError[]): PlatformError {
  return badRequest(firstReason(errors), errors)
}

/** 400 for fields that are missing or malformed. */
export function unreadableFields(errors: FieldError[]): PlatformError {
  return new PlatformError('MODEL_BINDING_FAILED', firstReason(errors), { errors })
}

export function firstReason([first]: readonly FieldError[]): string {
  return refusalSentence(first ?? { field: '', message: 'is not valid' })
}

/**
 * Returns one sentence about one field. A reason without a subject, or with the field as its subject, continues a
 * sentence about the field; any other reason is quoted unchanged.
 */
export function refusalSentence({ field, message }: FieldError): string {
  const subject = field === '' ? 'The body' : `The field "${field}"`
  const reason = withoutFieldName({ field, message }).message
  const isAboutField = reason !== message || PREDICATE.test(reason)
  return asSentence(isAboutField ? `${subject} ${reason}` : `${subject} was refused: ${reason}`)
}

/** Removes the field's name from the start of its reason, because the field is shown beside it. */
export function withoutFieldName({ field, message }: FieldError): FieldError {
  const own = [field, field.split('.').at(-1)].find((name) => name !== '' && message.startsWith(`${name} `))
  const rest = own === undefined ? message : message.slice(own.length + 1)
  return { field, message: CONNECTIVE.test(rest) ? message : rest }
}

/** A reason that begins with one of these words continues a sentence whose subject is the field. */
const PREDICATE = /^(is|are|was|must|has|have|can|cannot|may|needs|lies|differs|does|holds|asks|grows|changes)\b/
/**
 * A reason that continues with one of these words names more than the field: `cpuLimit and cpuRequest ...`, `size of a
 * volume ...`.
 */
const CONNECTIVE = /^(and|or|of|in|with|names)\b/

/** Adds a full stop to a text that does not end like a sentence. */
export function asSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}

/** @param hint a sentence that says what to use instead */
export function notFound(what: string, hint?: string): PlatformError {
  return new PlatformError('NOT_FOUND', [`${what} was not found.`, hint].filter(Boolean).join(' '))
}

/** 403 for a missing permission: `action` is its name, `scope` where it is needed. */
export function permissionMissing(action: string, scope: string): PlatformError {
  return new PlatformError('FORBIDDEN', `The permission ${action} is missing at ${scope}.`, { action, scope })
}

/** For the `catch` of a deletion or removal: undefined if the object is already gone; rethrows any other error. */
export function ignoreNotFound(error: unknown): undefined {
  if (error instanceof PlatformError && error.code === 'NOT_FOUND') return undefined
  throw error
}

/** For `catch` of a change: throws the given refusal if the object was deleted in the meantime. */
export function goneAs(refusal: () => PlatformError): (error: unknown) => never {
  return (error) => {
    throw error instanceof PlatformError && error.code === 'NOT_FOUND' ? refusal() : error
  }
}

/** The text of anything that was thrown, for logs and conditions. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown)
  const { message } = thrown as { message?: unknown }
  return typeof message === 'string' ? message : 'A failure without a message.'
}
