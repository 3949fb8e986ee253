import { z } from 'zod'
import { boundaryScope } from '../../api/callers/visibility.ts'
import type { Services } from '../../api/http/context.ts'
import type { AnyObject } from '../../api/records/records.ts'
import { ERROR_STATUS, PlatformError } from '../../core/errors.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { principalOfUser } from '../authorizer/index.ts'
import type { Change } from './change.ts'
import type { Caches } from './freshAccess.ts'
import { judge } from './judge.ts'
import { judgeWithLock, VISIBILITY_TIMEOUT_MS } from './judgeWithLock.ts'
import { UncachedServices } from './uncachedServices.ts'

const API_VERSION = 'admission.k8s.io/v1'
const IAM = 'iam.freehold.dev'

const Stored = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({}),
})

/** The fields of an AdmissionReview that the decision needs. */
const Review = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('AdmissionReview'),
  request: z.object({
    uid: z.string().min(1),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE']),
    resource: z.object({ group: z.string(), resource: z.string() }),
    subResource: z.string().optional(),
    namespace: z.string().optional(),
    userInfo: z.object({ username: z.string().optional() }),
    dryRun: z.boolean().nullish(),
    object: Stored.nullish(),
    oldObject: Stored.nullish(),
  }),
})
type Request = z.output<typeof Review>['request']

type Status = {
  code: number
  reason: string
  message: string
  /** `retryAfterSeconds` becomes a Retry-After header, so that Kubernetes clients retry by themselves. */
  details?: { causes: { reason: string; field?: string }[]; retryAfterSeconds?: number | undefined }
}
export type AdmissionAnswer = {
  apiVersion: string
  kind: 'AdmissionReview'
  response: { uid: string; allowed: boolean; status?: Status }
}

export type AdmissionOptions = {
  services: Services
  caches: Caches
  /** False until boundaries, people and the other caches are loaded. Until then every write is refused. */
  isReady: () => boolean
  /** Milliseconds for which other reviews wait until an admitted write is stored. */
  visibilityTimeout?: number
}

/**
 * Answers AdmissionReviews (admission.k8s.io/v1) for the kinds of access control: admits a write by kubectl if REST
 * would accept it, by the same rules and with the same messages. Each review reads the deciding records from the API
 * server. Returns undefined if the body is not such a review.
 * @throws KubeError if the API server cannot be reached; the write is then refused, because the webhook fails closed
 */
export function createAdmission({
  services,
  caches,
  isReady,
  visibilityTimeout = VISIBILITY_TIMEOUT_MS,
}: AdmissionOptions) {
  const uncached = new UncachedServices(services, caches)
  return async (body: unknown): Promise<AdmissionAnswer | undefined> => {
    const parsed = Review.safeParse(body)
    if (!parsed.success) return undefined
    const { request } = parsed.data
    const answer = (status?: Status): AdmissionAnswer => ({
      apiVersion: API_VERSION,
      kind: 'AdmissionReview',
      response: { uid: request.uid, allowed: status === undefined, ...(status === undefined ? {} : { status }) },
    })
    try {
      if (!isReady()) throw new PlatformError('SERVICE_UNAVAILABLE', 'The platform is starting: try again in a moment.')
      const change = changeOf(request)
      const boundaryId = boundaryOfNamespace(change.namespace ?? '')
      // REST changes owners and denies one at a time, so this takes its turn in the same queue.
      const key = boundaryId === undefined ? '/' : boundaryScope(boundaryId)
      const review = { key, change, isDryRun: request.dryRun === true, timeout: QUEUE_TIMEOUT_MS, visibilityTimeout }
      await judgeWithLock(services, review, () => uncached.during(boundaryId, (now) => judge(now, change)))
      return answer()
    } catch (error) {
      if (error instanceof PlatformError) return answer(statusOf(error))
      throw error
    }
  }
}

/**
 * Milliseconds that a review waits for earlier ones. The API server gives up after five seconds and answers 500;
 * reviews that continued after that would block those behind them for no caller.
 */
const QUEUE_TIMEOUT_MS = 3_000

/** @throws PlatformError FORBIDDEN if the caller is not a principal, or the kind does not belong to access control */
function changeOf({ operation, resource, subResource = '', namespace, userInfo, object, oldObject }: Request): Change {
  const principalId = principalOfUser(userInfo.username)
  if (principalId === undefined) throw new PlatformError('FORBIDDEN', 'The caller is not a principal of the platform.')
  const kind = KINDS.find((one) => one.resource.group === resource.group && one.resource.plural === resource.resource)
  if (kind === undefined || resource.group !== IAM || subResource !== '') {
    throw new PlatformError('FORBIDDEN', `${resource.resource}.${resource.group} cannot be written by tenants.`)
  }
  const [next, previous] = [asObject(kind, object), asObject(kind, oldObject)]
  return { operation, kind, caller: { principalId }, namespace, next, previous }
}

/** The API server has already validated the object against the schema and applied defaults. */
function asObject(kind: AnyKind, object: Request['object']): AnyObject | undefined {
  if (object === null || object === undefined) return undefined
  return { ...object, apiVersion: kind.apiVersion, kind: kind.kind } as unknown as AnyObject
}

/** Never answers 409, which kubectl would take for a version conflict and retry. */
function statusOf({ code, message, extras }: PlatformError): Status {
  const faults = (extras.errors ?? []) as { field: string; message: string }[]
  const [first, ...errors] = faults
  // The message may already contain the first reason.
  if (first !== undefined && !message.includes(first.message)) errors.unshift(first)
  const fields = errors.map(({ field, message: why }) => ` ${field}: ${why}.`).join('')
  const causes = faults.map(({ field, message: why }) => ({ reason: code, message: why, field: `spec.${field}` }))
  const details = { causes: causes.length === 0 ? [{ reason: code, message }] : causes }
  if (ERROR_STATUS[code] === 403) return { code: 403, reason: 'Forbidden', message, details }
  if (ERROR_STATUS[code] === 429)
    return {
      code: 429,
      reason: 'TooManyRequests',
      message,
      details: { ...details, retryAfterSeconds: extras.retryAfterSeconds as number | undefined },
    }
  if (ERROR_STATUS[code] === 503) return { code: 503, reason: 'ServiceUnavailable', message, details }
  return { code: 422, reason: 'UnprocessableEntity', message: message + fields, details }
}
