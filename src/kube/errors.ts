import { failureGuard } from '../core/failure.ts'
import type { ObjectRef, Resource } from './object.ts'
import { objectKey, resourceId } from './object.ts'

export { absent } from '../core/kubeFailure.ts'

export type KubeErrorReason =
  | 'NotFound'
  /** The server does not know the type (no CRD, or not served yet), so nothing is known about the object. */
  | 'NotServed'
  | 'Conflict'
  | 'AlreadyExists'
  | 'Invalid'
  | 'Forbidden'
  | 'Unauthorized'
  | 'Throttled'
  | 'Gone'
  | 'Unavailable'
  | 'Unexpected'

/** One place of an object that the API server refused: the path of the field in dots (may be empty), and why. */
export type KubeErrorCause = { field: string; message: string }

/** A refusal by a ValidatingAdmissionPolicy or a validating webhook: its name, and the message of its author. */
export type PolicyDenial = { policy: string; message: string }

/** A refusal by a ResourceQuota: its name, and the amounts (as quantities) of the first resource that it limits. */
export type QuotaDenial = { name: string; resource: string; requested: string; used: string; limit: string }

export type KubeErrorDetail = {
  /** The HTTP status; 0 if there was no answer. */
  status: number
  cluster?: string | undefined
  resource?: Resource | undefined
  namespace?: string | undefined
  name?: string | undefined
  causes?: readonly KubeErrorCause[] | undefined
  denial?: PolicyDenial | undefined
  quota?: QuotaDenial | undefined
  retryAfterSeconds?: number | undefined
  maybeApplied?: boolean | undefined
  repeated?: boolean | undefined
  cause?: unknown
}

/**
 * A failed call to the API server. The message is ours and names verb, resource and object; it contains no text of the
 * server. What the server said about fields is in `causes`, a policy's own words in `denial`.
 */
export class KubeError extends Error {
  readonly reason: KubeErrorReason
  readonly status: number
  /** Id of the cluster that answered; undefined for the platform's own. */
  readonly cluster: string | undefined
  readonly resource: Resource | undefined
  readonly namespace: string | undefined
  readonly objectName: string | undefined
  readonly causes: readonly KubeErrorCause[]
  readonly denial: PolicyDenial | undefined
  readonly quota: QuotaDenial | undefined
  readonly retryAfterSeconds: number | undefined
  /** The request was sent and no answer came: a write may or may not have happened. */
  readonly maybeApplied: boolean
  /** An earlier attempt of this call got no response, so the conflict may be its own success. */
  readonly repeated: boolean

  constructor(reason: KubeErrorReason, message: string, detail: KubeErrorDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'KubeError'
    this.reason = reason
    this.status = detail.status
    this.cluster = detail.cluster
    this.resource = detail.resource
    this.namespace = detail.namespace
    this.objectName = detail.name
    this.causes = detail.causes ?? []
    this.denial = detail.denial
    this.quota = detail.quota
    this.retryAfterSeconds = detail.retryAfterSeconds
    this.maybeApplied = detail.maybeApplied ?? false
    this.repeated = detail.repeated ?? false
  }

  /** Returns the same error, of a server that does not know its roles yet and refuses everything. */
  whileStarting(): KubeError {
    return new KubeError('Unavailable', this.message, { ...this, name: this.objectName })
  }

  /** Returns the same error, marked as `repeated`. */
  afterLostAnswer(): KubeError {
    return new KubeError(this.reason, this.message, { ...this, name: this.objectName, repeated: true })
  }
}

/** Returns the subject of a sentence about this refusal. */
export function refusalSubjectOf({ cluster }: KubeError): string {
  return cluster === undefined ? 'The API server' : `The API server of cluster "${cluster}"`
}

export const isKubeError = failureGuard(KubeError)

/** For `catch` of a create: returns undefined if the object exists already. */
export function ignoreKubeAlreadyExists(error: unknown): undefined {
  if (isKubeError(error, 'AlreadyExists')) return undefined
  throw error
}

/** What was attempted, for error messages. */
export type Attempt = {
  verb: string
  cluster?: string | undefined
  resource?: Resource | undefined
  ref?: Partial<ObjectRef> | undefined
  path?: string
}

export function describeAttempt({ verb, resource, ref, path }: Attempt): string {
  if (resource === undefined) return `${verb} ${path ?? 'the API server'}`
  if (ref?.name !== undefined) return `${verb} ${resourceId(resource)} "${objectKey(ref.namespace, ref.name)}"`
  return ref?.namespace === undefined
    ? `${verb} ${resourceId(resource)}`
    : `${verb} ${resourceId(resource)} in namespace "${ref.namespace}"`
}

type StatusBody = {
  reason?: string
  message?: string
  details?: {
    name?: string
    retryAfterSeconds?: number
    causes?: { field?: string; message?: string; reason?: string }[]
  }
}

const SENTENCE: Record<KubeErrorReason, string> = {
  NotFound: 'it does not exist',
  NotServed: 'the API server does not serve this type',
  Conflict: 'it was changed by someone else meanwhile',
  AlreadyExists: 'the name is taken',
  Invalid: 'the API server refused the object',
  Forbidden: 'this is not permitted',
  Unauthorized: 'the API server did not accept the credentials',
  Throttled: 'the API server asked to slow down',
  Gone: 'the requested version is no longer in the history',
  Unavailable: 'the API server is not available',
  Unexpected: 'the API server gave an unexpected answer',
}

/**
 * Maps an error answer of the API server to a KubeError.
 *
 * @param status HTTP status, or the code inside an ERROR event of a watch
 * @param text the body; parsed only if it is a Status object, and never copied into the message
 */
export function errorFromAnswer(
  attempt: Attempt,
  status: number,
  text: string,
  retryAfter?: string | undefined,
): KubeError {
  const body = parseStatus(text)
  const causes = causesOf(body)
  const denial = denialOf(body)
  const reason = reasonOf(attempt, status, body, causes)
  const isFull = status === 500 && sentenceOf(body) === STORE_FULL
  const sentence = isFull ? 'the store of the API server is full' : SENTENCE[reason]
  const where = denial === undefined ? fieldsOf(causes) : ` (policy "${denial.policy}")`
  return new KubeError(reason, `Cannot ${describeAttempt(attempt)}: ${sentence}${where} (HTTP ${status}).`, {
    status,
    ...subjectOf(attempt),
    causes,
    denial,
    quota: status === 403 ? quotaOf(body) : undefined,
    retryAfterSeconds: retryAfterOf(retryAfter) ?? body?.details?.retryAfterSeconds,
  })
}

/** Maps a call that got no answer: connection refused or reset, name not found, deadline passed. */
export function errorFromTransport(attempt: Attempt, thrown: unknown, maybeApplied: boolean): KubeError {
  const code = transportCode(thrown)
  return new KubeError('Unavailable', `Cannot ${describeAttempt(attempt)}: no answer from the API server (${code}).`, {
    status: 0,
    ...subjectOf(attempt),
    maybeApplied,
    cause: thrown,
  })
}

/** For an answer that arrived, but is not what was asked for. @param why a clause, such as `the answer is not JSON` */
export function errorFromContent(attempt: Attempt, why: string, detail: Partial<KubeErrorDetail> = {}): KubeError {
  const message = `Cannot ${describeAttempt(attempt)}: ${why}.`
  return new KubeError('Unexpected', message, { status: 200, ...subjectOf(attempt), ...detail })
}

function subjectOf({ cluster, resource, ref }: Attempt) {
  return { cluster, resource, namespace: ref?.namespace, name: ref?.name }
}

/** Returns the code of a failed connection, such as ECONNREFUSED; a message could contain an address or a header. */
export function transportCode(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const code = (error as NodeJS.ErrnoException).code
    if (typeof code === 'string') return code
    if (error.name === 'TimeoutError') return 'TIMEOUT'
  }
  return 'CONNECTION_FAILED'
}

function parseStatus(text: string): StatusBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || (body as { kind?: unknown }).kind !== 'Status') return undefined
    return body as StatusBody
  } catch {
    return undefined // Proxies and dying servers answer in plain text or half a document.
  }
}

/** etcd's error for every write once its quota is used up, until somebody frees space and disarms the alarm. */
const STORE_FULL = 'etcdserver: mvcc: database space exceeded'

/**
 * Answers of the API server while a policy, or the type of its parameters, is not loaded: for up to half a minute after
 * a start. Nothing is wrong with the object or with the caller's rights, so the call is worth a retry.
 */
const POLICY_NOT_READY =
  / is forbidden: (?:not yet ready to handle request$|ValidatingAdmissionPolicy '[^']{1,253}'(?: with binding '[^']{1,253}')? denied request: failed to configure (?:policy|binding): )/

function reasonOf(
  { resource }: Attempt,
  status: number,
  body: StatusBody | undefined,
  causes: readonly KubeErrorCause[],
): KubeErrorReason {
  if ((status === 403 || status === 422) && POLICY_NOT_READY.test(sentenceOf(body))) return 'Unavailable'
  // The API server gives its reasons in a Status; for an unknown path it has none.
  if (body === undefined && status !== 404 && status !== 429) return 'Unavailable'
  switch (status) {
    case 400:
    case 413:
    case 415:
      return 'Invalid'
    case 422:
      // A patch with the uid of a deleted namesake is refused as a change of an immutable field: a failed precondition.
      return causes.some((cause) => cause.field === 'metadata.uid') ? 'Conflict' : 'Invalid'
    case 401:
      return 'Unauthorized'
    case 403:
      return 'Forbidden'
    case 404:
      return resource !== undefined && body?.details?.name === undefined ? 'NotServed' : 'NotFound'
    case 409:
      return body?.reason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict'
    case 410:
      return 'Gone'
    case 429:
      return 'Throttled'
    case 500:
      // Server-side apply answers an unknown field with 500; to the caller it is a refused object like any other.
      return causes.length > 0 && body?.reason !== 'InternalError' ? 'Invalid' : 'Unavailable'
    case 502:
    case 503:
    case 504:
      return 'Unavailable'
    default:
      return 'Unexpected'
  }
}

/** Characters of a server's message that are read; an untrusted cluster may send megabytes. */
const MESSAGE_READ_MAX = 32_768
const sentenceOf = ({ message }: StatusBody = {}) =>
  typeof message === 'string' ? message.slice(0, MESSAGE_READ_MAX) : ''

/** Limits for what is passed on in answers; our own policies and schemas say less. */
const CAUSES_MAX = 50
const TEXT_MAX = 2_000
const PATH_MAX = 500
const truncateText = (text: unknown, maxLength = TEXT_MAX) => (typeof text === 'string' ? text.slice(0, maxLength) : '')

/** A path in one of our schemas. Keys of maps, which users choose, are in brackets and do not match. */
const SCHEMA_PATH = /^(metadata|spec)(\.[A-Za-z]{1,63}|\[\d{1,6}\]){1,10}$/
const FIELDS_MAX = 3

function fieldsOf(causes: readonly KubeErrorCause[]): string {
  const fields = new Set(causes.flatMap(({ field }) => (SCHEMA_PATH.test(field) ? [field] : [])))
  return fields.size === 0 ? '' : ` at ${[...fields].slice(0, FIELDS_MAX).join(', ')}`
}

const STRICT = /(unknown|duplicate) field "([^"]+)"/g
/** The length is bounded because every dot of a long text could start a match, each followed to the end. */
const UNDECLARED = /(\.[A-Za-z0-9_.\-[\]"=]{1,500}): field not declared in schema/g

function causesOf(body: StatusBody | undefined): KubeErrorCause[] {
  const causes: unknown = body?.details?.causes
  const listed = (Array.isArray(causes) ? causes.slice(0, CAUSES_MAX) : []).map((cause) => ({
    field: truncateText(cause?.field, PATH_MAX),
    message: truncateText(cause?.message) || truncateText(cause?.reason),
  }))
  // A policy's denial is listed as a cause without a field; it is returned as `denial` instead.
  const fields = listed.filter((cause) => !DENIAL.test(cause.message))
  if (fields.length > 0) return fields
  const message = sentenceOf(body)
  const strict = [...message.matchAll(STRICT)].map((match) => ({ field: match[2] ?? '', message: `${match[1]} field` }))
  const undeclared = [...message.matchAll(UNDECLARED)].map((match) => ({
    field: (match[1] ?? '').slice(1),
    message: 'unknown field',
  }))
  return [...strict, ...undeclared]
}

const DENIAL =
  /(?:ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request|admission webhook "([^"]+)" denied the request): ([\s\S]*)$/

function denialOf(body: StatusBody | undefined): PolicyDenial | undefined {
  const match = DENIAL.exec(sentenceOf(body))
  return match === null
    ? undefined
    : { policy: truncateText(match[1] ?? match[2], PATH_MAX), message: truncateText(match[3]) }
}

/** Each list of amounts is `resource=amount` with commas between; all lists have the same order. */
const EXCEEDED =
  /exceeded quota: ([^\s,]{1,253}), requested: ([^\s,=]+)=([^\s,]+)\S*, used: [^\s,=]+=([^\s,]+)\S*, limited: [^\s,=]+=([^\s,]+)/

function quotaOf(body: StatusBody | undefined): QuotaDenial | undefined {
  const [, name, resource, requested, used, limit] = EXCEEDED.exec(sentenceOf(body)) ?? []
  if (
    name === undefined ||
    resource === undefined ||
    requested === undefined ||
    used === undefined ||
    limit === undefined
  )
    return undefined
  return { name, resource: truncateText(resource, PATH_MAX), requested, used, limit }
}

/** Returns the seconds of a Retry-After header. Its date form, which the API server never uses, is ignored. */
function retryAfterOf(header: string | undefined): number | undefined {
  return header !== undefined && /^[0-9]{1,6}$/.test(header) ? Number(header) : undefined
}
