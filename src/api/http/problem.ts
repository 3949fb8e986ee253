import { IdentityProviderError } from '../../adapters/identity/port.ts'
import { FULL_POLICY, readBytesMost, readHeld, SIZE_POLICY } from '../../contracts/room.ts'
import {
  besideField,
  ERROR_STATUS,
  type ErrorCode,
  type FieldError,
  firstReason,
  PlatformError,
} from '../../core/errors.ts'
import { subjectOf } from '../../crds/called.ts'
import { isKubeError, type KubeError, type QuotaDenial, whoRefuses } from '../../kube/errors.ts'

/** The form of error bodies (interface section 7); `problem of 500` where only a failure is problem-details: plans. */
export type ErrorForm = 'platform' | 'problem' | 'problem of 500'

export type ErrorPlace = {
  module: string
  form: ErrorForm
  correlationId: string
  traceId: string
  /** Whether the request carried an access token, valid or not. */
  hasToken?: boolean
  /** Where a client learns how to get one: a parameter of the challenge. */
  metadata?: string | undefined
}

export type ErrorAnswer = { status: number; headers: Record<string, string>; body: object }

/**
 * Errors before the route runs keep the platform-wide codes, and their form (interface section 7): no sign-in, no
 * permission, a body that cannot be read, and what every route is refused alike. A body that can be read but is not
 * allowed is refused by the route.
 */
const BEFORE_THE_ROUTE: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHORIZED',
  'FORBIDDEN',
  'MODEL_BINDING_FAILED',
  'BODY_TOO_LARGE',
  'NOT_ACCEPTABLE',
  'TOO_MANY_REQUESTS',
  'NOT_IMPLEMENTED',
])

/** The form and the code of an error at a route: modules with problem-details have codes in kebab-case. */
export function shownAs(form: ErrorForm, code: ErrorCode): { isProblem: boolean; code: string } {
  if (form === 'problem' && !BEFORE_THE_ROUTE.has(code))
    return { isProblem: true, code: code.toLowerCase().replaceAll('_', '-') }
  return { isProblem: form === 'problem of 500' && ERROR_STATUS[code] === 500, code }
}

/** What becomes a header: `challenge` where something other than a bearer token is asked for. */
type Unshown = { retryAfterSeconds?: number; challenge?: string }

/** The two error bodies of section 7 of the interface. */
export function errorAnswer(error: PlatformError, place: ErrorPlace): ErrorAnswer {
  const { message, extras, status } = error
  const { isProblem, code } = shownAs(place.form, error.code)
  const { retryAfterSeconds, challenge, ...rest } = extras as Record<string, unknown> & Unshown
  const shown = Array.isArray(rest.errors) ? { ...rest, errors: rest.errors.map(asShown) } : rest
  const headers: Record<string, string> = {}
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (status === 401) headers['www-authenticate'] = challenge ?? bearerChallenge(place)
  const { module, correlationId, traceId } = place
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

/** Reasons of fields go on after the names of these; errors of another form stay as they are. */
function asShown(error: object): object {
  const { field, message } = error as Partial<FieldError>
  return typeof field !== 'string' || typeof message !== 'string'
    ? error
    : { ...error, ...besideField({ field, message }) }
}

/** RFC 6750 section 3.1: a request without a token is not told of an error in it. */
function bearerChallenge({ hasToken = false, metadata }: ErrorPlace): string {
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

/** A refusal of the identity provider that its caller did not translate. */
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
 * A refusal of the API server in the words of the interface. Its own text is not passed on, except what it says about fields
 * of our own kinds and what our own policies say.
 */
export function fromKubeError(error: KubeError): PlatformError {
  const cause = { cause: error }
  const { resource, namespace, objectName: name = '' } = error
  const what = subjectOf(resource?.kind, { metadata: { name, namespace } })
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
    case 'NotFound':
      // A missing type or namespace is a platform fault or a race with a deletion: the object does not exist.
      if (error.typeMissing) return unavailable('The platform does not serve this kind yet.', cause)
      return new PlatformError('NOT_FOUND', `${what} was not found.`, {}, cause)
    case 'Invalid':
      return refused(error)
    case 'Forbidden':
      if (error.denial !== undefined) return refused(error)
      return error.quota === undefined || error.cluster !== undefined
        ? forbiddenToUs(error)
        : overQuota(error, error.quota)
    case 'Throttled':
    case 'Unavailable':
      return unavailable('The API server is not available at the moment; try again.', cause, error.retryAfterSeconds)
    default:
      if (error.cluster !== undefined) return upstreamFailed(error, 'answered with what cannot be read')
      return new PlatformError('INTERNAL_ERROR', 'The request failed for a reason inside the platform.', {}, cause)
  }
}

const upstreamFailed = (error: KubeError, how: string) =>
  new PlatformError('UPSTREAM_FAILED', `${whoRefuses(error)} ${how}.`, {}, { cause: error })

/** Retry-After in seconds if the API server did not answer. */
const RETRY_AFTER = 2

function unavailable(
  message: string,
  cause: { cause: unknown },
  retryAfterSeconds: number = RETRY_AFTER,
): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds }, cause)
}

/**
 * A terminating namespace refuses new objects with 403. Any other 403 means that our own permissions are missing:
 * an API server that has just started has not read them yet. Neither is the caller's fault.
 */
function forbiddenToUs(error: KubeError): PlatformError {
  if (error.causes.some(({ message }) => message.includes('being terminated'))) {
    return new PlatformError('INVALID_STATE', 'The resource group is being deleted.', {}, { cause: error })
  }
  return unavailable('The API server does not permit the platform to do this at the moment.', { cause: error })
}

/** A ResourceQuota of whoever runs the cluster, such as one for the number of objects in a namespace. */
function overQuota(cause: KubeError, { name, resource: quota, limit, used, requested }: QuotaDenial): PlatformError {
  const message = `The ResourceQuota "${name}" limits ${quota} to ${limit}; ${used} is used and ${requested} more was requested.`
  return new PlatformError('QUOTA_EXCEEDED', message, { quota, limit, used, requested }, { cause })
}

/** `spec.x` of a custom resource is the field `x` of its record. */
export function recordField(path: string): string {
  return path.replace(/^spec\.?/, '')
}

/** What the API server puts before the message of a rule: the type of what was refused, in place of its value. */
const BEFORE_RULE = /^Invalid value: "(object|array|string|integer|number|boolean)": /

function refused(error: KubeError): PlatformError {
  const { denial } = error
  // Neither our policies nor our kinds are there, so nothing of it is about what the caller sent.
  if (error.cluster !== undefined) return upstreamFailed(error, 'refuses this')
  if (denial !== undefined) {
    const { policy, message } = denial
    const held = policy === FULL_POLICY ? readHeld(message) : undefined
    if (held !== undefined)
      return new PlatformError('QUOTA_EXCEEDED', message, { quota: 'objects', ...held, requested: 1 }, { cause: error })
    const limitBytes = policy === SIZE_POLICY ? readBytesMost(message) : undefined
    if (limitBytes !== undefined) return new PlatformError('BODY_TOO_LARGE', message, { limitBytes }, { cause: error })
    const errors = [{ field: '', message: denial.message }]
    return new PlatformError('RULE_VIOLATION', denial.message, { policy: denial.policy, errors }, { cause: error })
  }
  const errors = error.causes.map(({ field, message }) => ({
    field: recordField(field),
    message: message.replace(BEFORE_RULE, ''),
  }))
  const message = errors.length === 0 ? 'The API server refused the object.' : firstReason(errors)
  return new PlatformError('BAD_REQUEST', message, { errors }, { cause: error })
}
