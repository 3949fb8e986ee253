import { CallerThrottle } from '../../api/http/callerThrottle.ts'
import { requestRate, TokenBucket } from '../../api/http/limits.ts'
import type { Clock } from '../../core/clock.ts'
import { type ReviewAnswer, reviewAnswer } from './answer.ts'
import { rateLimitTenantOf, type ScopeOfNamespace } from './question.ts'

/**
 * The authorizer's share of a tenant's REST rate limit: each question costs the API server more than it costs the
 * facade. With the default limit this gives 50 per second and bursts of 300, the client-side limits of kubectl.
 */
const RATE_LIMIT_SHARE = 0.5
const BURST_SECONDS = 6
/** Milliseconds. The API server gives up after 3 s and answers its caller with 500. */
const WAIT_TIMEOUT_MS = 1_500

/**
 * Long-lived requests (watches, logs, pod connections) that a tenant may open at once; then `OPENED_PER_SECOND`, the
 * rate at which a program with 450 watches reopens them. The API server has no such limit, at 40 KB of memory each.
 */
export const MAX_OPEN_REQUESTS = 1_000
const OPENED_PER_SECOND = 1
const TOO_MANY_OPEN = `Too many watches, logs or connections into pods: ${MAX_OPEN_REQUESTS} at once may be opened, then ${OPENED_PER_SECOND} each second. Close some, and try again later.`
const LONG_SUBRESOURCES: ReadonlySet<unknown> = new Set(['log', 'exec', 'attach', 'portforward'])

type Attributes = { verb?: unknown; subresource?: unknown }
/** Not validated here: the review does that. */
type Question = { spec?: { user?: unknown; resourceAttributes?: Attributes } }

/**
 * Limits tenants to half the request rate of REST. The API server has no such limit per tenant, and asks the authorizer
 * for each request. Cluster controllers are not limited, because they may need many requests.
 */
export function limitReviewRate(
  review: (body: unknown) => Promise<ReviewAnswer | undefined>,
  {
    requestsPerMinute,
    scopeOfNamespace,
    clock,
  }: { requestsPerMinute: number; scopeOfNamespace: ScopeOfNamespace; clock: Clock },
) {
  const perSecond = RATE_LIMIT_SHARE * requestRate(requestsPerMinute).perSecond
  const throttle = new CallerThrottle({ perSecond, burst: BURST_SECONDS * perSecond, longest: WAIT_TIMEOUT_MS }, clock)
  const opened = new TokenBucket({ perSecond: OPENED_PER_SECOND, burst: MAX_OPEN_REQUESTS })
  return async (body: unknown) => {
    const { user, resourceAttributes } = (body as Question | undefined)?.spec ?? {}
    const tenant = typeof user === 'string' ? rateLimitTenantOf(user, scopeOfNamespace) : undefined
    if (tenant === undefined) return review(body)
    await throttle.take(tenant)
    const answer = await review(body)
    if (answer === undefined || answer.status.denied === true || !staysOpen(resourceAttributes)) return answer
    // What is left to RBAC is mostly refused and then retried by programs, so it has its own budget.
    const isFull = opened.take(`${tenant} ${answer.status.allowed}`, 1, clock.monotonic()) !== undefined
    return isFull ? reviewAnswer({ allowed: false, denied: true, reason: TOO_MANY_OPEN }) : answer
  }
}

const staysOpen = ({ verb, subresource }: Attributes = {}) => verb === 'watch' || LONG_SUBRESOURCES.has(subresource)
