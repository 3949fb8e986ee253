import { Budget, requestRate } from '../../api/http/limits.ts'
import { Pace } from '../../api/http/pace.ts'
import type { Clock } from '../../core/clock.ts'
import { type ReviewAnswer, reviewAnswer } from './answer.ts'
import { type PlaceOfNamespace, tenantOf } from './question.ts'

/**
 * Of a tenant's questions, to the requests that REST takes: each costs the API server more than the facade. With the limit as it
 * comes, these are 50 a second and 300 at once, which is what kubectl limits itself to.
 */
const PART_OF_REQUESTS = 0.5
const SECONDS_AT_ONCE = 6
/** Milliseconds. The API server gives up after 3 s, and its caller would see a 500. */
const LONGEST_WAIT = 1_500

/**
 * Of a tenant, as many more each second as a program opens anew that keeps 450 watches. The API server has no limit of its own
 * for what stays open: each takes 40 KB of its memory, for as long as its client likes. When one ends, nobody tells.
 */
export const OPEN_MAX = 1_000
const OPENED_PER_SECOND = 1
const TOO_MANY = `Too many watches, logs or connections into pods: ${OPEN_MAX} at once may be opened, then ${OPENED_PER_SECOND} each second. Close some, and try again later.`
const OPEN_IN_PODS: ReadonlySet<unknown> = new Set(['log', 'exec', 'attach', 'portforward'])

type Attributes = { verb?: unknown; subresource?: unknown }
/** Unchecked: the review checks its shape. */
type Question = { spec?: { user?: unknown; resourceAttributes?: Attributes } }

/**
 * Asks half as fast as REST may be asked: the API server has no such limit of its own, and each of its requests is a
 * question. Tenants only; a controller of the cluster may well ask for much.
 */
export function paced(
  review: (body: unknown) => Promise<ReviewAnswer | undefined>,
  { requestsPerMinute, placeOf, clock }: { requestsPerMinute: number; placeOf: PlaceOfNamespace; clock: Clock },
) {
  const perSecond = PART_OF_REQUESTS * requestRate(requestsPerMinute).perSecond
  const pace = new Pace({ perSecond, burst: SECONDS_AT_ONCE * perSecond, longest: LONGEST_WAIT }, clock)
  const opened = new Budget({ perSecond: OPENED_PER_SECOND, burst: OPEN_MAX })
  return async (body: unknown) => {
    const { user, resourceAttributes } = (body as Question | undefined)?.spec ?? {}
    const tenant = typeof user === 'string' ? tenantOf(user, placeOf) : undefined
    if (tenant === undefined) return review(body)
    await pace.take(tenant)
    const answer = await review(body)
    if (answer === undefined || answer.status.denied === true || !staysOpen(resourceAttributes)) return answer
    // What RBAC is left to decide it mostly refuses, which programs try again: that takes nothing from what is allowed here.
    const isFull = opened.take(`${tenant} ${answer.status.allowed}`, 1, clock.monotonic()) !== undefined
    return isFull ? reviewAnswer({ allowed: false, denied: true, reason: TOO_MANY }) : answer
  }
}

const staysOpen = ({ verb, subresource }: Attributes = {}) => verb === 'watch' || OPEN_IN_PODS.has(subresource)
