import { IdentityProviderError } from '../../adapters/identity/port.ts'
import {
  OBJECT_COUNT_POLICY,
  OBJECT_SIZE_POLICY,
  parseObjectCountMessage,
  parseObjectSizeLimit,
} from '../../contracts/objectLimits.ts'
import {
  ERROR_STATUS,
  type ErrorCode,
  type FieldError,
  firstReason,
  PlatformError,
  withoutFieldName,
} from '../../core/errors.ts'
import { sentenceSubjectOf } from '../../crds/restNames.ts'
import { isKubeError, type KubeError, type QuotaDenial, refusalSubjectOf } from '../../kube/errors.ts'

/**
 * The form of error bodies (interface section 7): `snake` is the platform's body with codes in lower case, `problem of 500`
 * where only a failure is problem-details: plans.
 */
export type ErrorForm = 'platform' | 'snake' | 'problem' | 'problem of 500'

export type ErrorContext = {
  module: string
  form: ErrorForm
  correlationId: string
  traceId: string
  /** Whether the request carried an access token, valid or not. */
  hasToken?: boolean
  /** Where a client learns how to get a token: a parameter of the challenge. */
  metadata?: string | undefined
}

export type ErrorAnswer = { status: number; headers: Record<string, string>; body: object }

/**
 * Errors before the route runs keep the platform-wide codes and form (interface section 7): no sign-in, no permission,
 * an unreadable body, and what every route refuses alike. The route refuses a body that is readable but not allowed.
 */
const PRE_ROUTE_CODES: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHORIZED',
  'FORBIDDEN',
  'MODEL_BINDING_FAILED',
  'BODY_TOO_LARGE',
  'NOT_ACCEPTABLE',
  'TOO_MANY_REQUESTS',
  'NOT_IMPLEMENTED',
])

/** Also platform-wide (interface section 7), although the route itself refuses with them. */
const SHARED_CODES: ReadonlySet<ErrorCode> = new Set(['BAD_REQUEST', 'NOT_FOUND', 'REQUEST_FAILED'])

/** Returns the form and the code of an error at a route: modules with problem-details have codes in kebab-case. */
export function shownAs(form: ErrorForm, code: ErrorCode): { isProblem: boolean; code: string } {
  if (form === 'snake' && !PRE_ROUTE_CODES.has(code) && !SHARED_CODES.has(code))
    return { isProblem: false, code: code.toLowerCase() }
  if (form === 'problem' && !PRE_ROUTE_CODES.has(code))
    return { isProblem: true, code: code.toLowerCase().replaceAll('_', '-') }
  return { isProblem: form === 'problem of 500' && ERROR_STATUS[code] === 500, code }
}

/** Extras that become headers; `challenge` replaces the bearer challenge. */
type HeaderExtras = { retryAfterSeconds?: number; challenge?: string }

/** Builds the error body in one of the two forms of section 7 of the interface. */
export function errorAnswer(error: PlatformError, context: ErrorContext): ErrorAnswer {
  const { message, extras, status } = error
  const { isProblem, code } = shownAs(context.form, error.code)
  const { retryAfterSeconds, challenge, ...rest } = extras as Record<string, unknown> & HeaderExtras
  const shown = Array.isArray(rest.errors) ? { ...rest, errors: rest.errors.map(withoutRepeatedName) } : rest
  const headers: Record<string, string> = {}
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (status === 401) headers['www-authenticate'] = challenge ?? bearerChallenge(context)
  const { module, correlationId, traceId } = context
  if (isProblem) {
    headers['content-type'] = 'application/problem+json'
    const type = `urn:freehold:error:${code}`
    return {
      status,
      headers,
      body: { ...shown, type, title: code, status, detail: message, code, module, correlationId },
    }
  }
  headers['content-type'] = 'application/json; charset=utf-8'
  return { status, headers, body: { ...shown, error: message, code, module, correlationId, traceId } }
}

/** Removes the field's name from its reason, because both are shown; errors of another form stay as they are. */
function withoutRepeatedName(error: object): object {
  const { field, message } = error as Partial<FieldError>
  return typeof field !== 'string' || typeof message !== 'string'
    ? error
    : { ...error, ...withoutFieldName({ field, message }) }
}

/** RFC 6750 section 3.1: without a token in the request, the challenge names no error. */
function bearerChallenge({ hasToken = false, metadata }: ErrorContext): string {
  const parameters = [...(hasToken ? ['error="invalid_token"'] : []), ...(metadata === undefined ? [] : [metadata])]
  return ['Bearer', parameters.join(', ')].filter((part) => part !== '').join(' ')
}

/** Turns anything that a handler throws into an error that the caller may see. */
export function toPlatformError(thrown: unknown): PlatformError {
  if (thrown instanceof PlatformError) return thrown
  if (isKubeError(thrown)) return fromKubeError(thrown)
  if (thrown instanceof IdentityProviderError) return fromIdentityProvider(thrown)
  return new PlatformError(
    'INTERNAL_ERROR',
    'The request failed for a reason inside the platform.',
    {},
    { cause: thrown },
  )
}

/** Translates an error of the identity provider that the handler did not translate. */
function fromIdentityProvider(error: IdentityProviderError): PlatformError {
  const cause = { cause: error }
  switch (error.reason) {
    case 'NotFound':
      return new PlatformError('NOT_FOUND', error.message, {}, cause)
    case 'NameTaken':
      return new PlatformError('ALREADY_EXISTS', error.message, {}, cause)
    case 'PasswordRefused':
      return new PlatformError('password_policy', error.message, { violations: [error.message] }, cause)
    case 'Unsupported':
      return new PlatformError('NOT_IMPLEMENTED', error.message, {}, cause)
    case 'Unavailable':
      return new PlatformError('UPSTREAM_FAILED', 'The identity provider is not available.', {}, cause)
  }
}

/**
 * Translates an error of the API server into the words of the interface. Its own text is not passed on, except about
 * fields of our kinds and from our policies.
 */
export function fromKubeError(error: KubeError): PlatformError {
  const cause = { cause: error }
  const { resource, namespace, objectName: name = '' } = error
  const what = sentenceSubjectOf(resource?.kind, { metadata: { name, namespace } })
  switch (error.reason) {
    case 'AlreadyExists':
      return new PlatformError('ALREADY_EXISTS', `${what} already exists.`, {}, cause)
    case 'Conflict':
      return new PlatformError(
        'CONFLICT',
        `${what} is being changed by many others at the moment; try again.`,
        {},
        cause,
      )
    case 'NotServed':
      return unavailable('The platform does not serve this kind yet.', cause)
    case 'NotFound':
      return new PlatformError('NOT_FOUND', `${what} was not found.`, {}, cause)
    case 'Invalid':
      return refused(error)
    case 'Forbidden':
      if (error.denial !== undefined) return refused(error)
      return error.quota === undefined || error.cluster !== undefined
        ? forbiddenToUs(error)
        : overQuota(error, error.quota)
    case 'Unauthorized':
    case 'Throttled':
    case 'Unavailable':
      return unavailable(
        `${refusalSubjectOf(error)} is not available at the moment; try again.`,
        cause,
        error.retryAfterSeconds,
      )
    default:
      if (error.cluster !== undefined) return upstreamFailed(error, 'answered with what cannot be read')
      return unavailable('The API server gave an answer that cannot be read; try again.', cause)
  }
}

const upstreamFailed = (error: KubeError, predicate: string) =>
  new PlatformError('UPSTREAM_FAILED', `${refusalSubjectOf(error)} ${predicate}.`, {}, { cause: error })

/** Retry-After in seconds if the API server names none. */
const RETRY_AFTER_SECONDS = 2

function unavailable(
  message: string,
  cause: { cause: unknown },
  retryAfterSeconds: number = RETRY_AFTER_SECONDS,
): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds }, cause)
}

/**
 * A terminating namespace refuses new objects with 403. Any other 403 means that our own permissions are missing, for
 * example because the API server has just started and has not loaded them yet. Neither is the caller's fault.
 */
function forbiddenToUs(error: KubeError): PlatformError {
  if (error.causes.some(({ message }) => message.includes('being terminated'))) {
    return new PlatformError('INVALID_STATE', 'The resource group is being deleted.', {}, { cause: error })
  }
  return unavailable('The API server does not permit the platform to do this at the moment.', { cause: error })
}

/** The refusal by a ResourceQuota of the cluster's administrators, such as for the number of objects in a namespace. */
function overQuota(cause: KubeError, { name, resource: quota, limit, used, requested }: QuotaDenial): PlatformError {
  const message = `The ResourceQuota "${name}" limits ${quota} to ${limit}; ${used} is used and ${requested} more was requested.`
  return new PlatformError('QUOTA_EXCEEDED', message, { quota, limit, used, requested }, { cause })
}

/** The field `spec.x` of a custom resource is the field `x` of its record. */
export function recordField(path: string): string {
  return path.replace(/^spec\.?/, '')
}

/** The prefix of a rule's message from the API server: the type of the refused value, in place of the value. */
const RULE_PREFIX = /^Invalid value: "(object|array|string|integer|number|boolean)": /

function refused(error: KubeError): PlatformError {
  const { denial } = error
  // Other clusters have neither our policies nor our kinds, so the refusal is not about what the caller sent.
  if (error.cluster !== undefined) return upstreamFailed(error, 'refuses this')
  if (denial !== undefined) {
    const { policy, message } = denial
    const held = policy === OBJECT_COUNT_POLICY ? parseObjectCountMessage(message) : undefined
    if (held !== undefined)
      return new PlatformError('QUOTA_EXCEEDED', message, { quota: 'objects', ...held, requested: 1 }, { cause: error })
    const limitBytes = policy === OBJECT_SIZE_POLICY ? parseObjectSizeLimit(message) : undefined
    if (limitBytes !== undefined) return new PlatformError('BODY_TOO_LARGE', message, { limitBytes }, { cause: error })
    const errors = [{ field: '', message: denial.message }]
    return new PlatformError('RULE_VIOLATION', denial.message, { policy: denial.policy, errors }, { cause: error })
  }
  const errors = error.causes.map(({ field, message }) => ({
    field: recordField(field),
    message: message.replace(RULE_PREFIX, ''),
  }))
  const message = errors.length === 0 ? 'The API server refused the object.' : firstReason(errors)
  return new PlatformError('BAD_REQUEST', message, { errors }, { cause: error })
}
