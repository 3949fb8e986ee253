import { z } from 'zod'
import type { PrincipalStatus } from '../../api/callers/principalStatus.ts'
import { isVisible } from '../../api/callers/visibility.ts'
import type { Access } from '../../api/http/context.ts'
import type { Staleness } from '../../api/http/staleness.ts'
import type { ReferencedRight } from '../../contracts/references.ts'
import { boundaryOfNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { formatScope } from '../../core/scope.ts'
import {
  API_VERSION,
  answerReview,
  type GetGrantRefusal,
  type ReviewAnswer,
  type ReviewStatus,
  reviewAnswer,
} from './answer.ts'
import { entersPod, type GivenToPod, type OwnerOfPod } from './podAccess.ts'
import {
  type OwnerOfPart,
  principalOfUser,
  questionOf,
  type ReviewedRequest,
  type ReviewQuestion,
  type ScopeOfNamespace,
} from './question.ts'

export { followNamespaceScopes, givenToPods, partOwners, podOwners } from './lookups.ts'
export { principalOfUser } from './question.ts'
export { limitReviewRate } from './reviewRateLimit.ts'

/** The uid of the object that the token was issued for, mapped from a claim by the API server's authentication. */
const PRINCIPAL_UID_EXTRA = 'freehold.dev/principal-uid'

/** The fields of a SubjectAccessReview that the decision needs. Other fields, such as selectors, are ignored. */
const Review = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('SubjectAccessReview'),
  spec: z.object({
    user: z.string().optional(),
    extra: z.record(z.string(), z.array(z.string())).optional(),
    resourceAttributes: z
      .object({
        namespace: z.string().optional(),
        verb: z.string().optional(),
        group: z.string().optional(),
        resource: z.string().optional(),
        subresource: z.string().optional(),
        name: z.string().optional(),
      })
      .optional(),
  }),
})

export type ReviewerOptions = {
  access: Pick<Access, 'explain' | 'scopesWith' | 'catchUp' | 'boundariesOf' | 'permissionsAt'>
  scopeOfNamespace: ScopeOfNamespace
  ownerOf: OwnerOfPod
  givenTo: GivenToPod
  ownerOfPart: OwnerOfPart
  getGrantRefusal: GetGrantRefusal
  /** False until all assignments and denies are loaded. Until then answers would be wrong. */
  isReady: () => boolean
  /** The same bound as for REST: with staler caches nothing is answered. Absent if no watch can be lost. */
  staleness?: Staleness | undefined
  /** Denies deleted and disabled principals, whatever a later authorizer would say. Absent with Keycloak. */
  standing?: PrincipalStatus | undefined
}

const STALE_MESSAGE =
  'The platform has lost its connection to the API server; its data is too old to answer from. Try again in a moment.'

/** Returns the scope where another replica may have just granted access; undefined for foreign requests. */
function scopeToCatchUp(
  question: ReviewQuestion,
  { resourceAttributes }: ReviewedRequest,
  scopeOfNamespace: ScopeOfNamespace,
): string | undefined {
  if (question.asks !== 'nothing') return question.scope
  const { namespace = '' } = resourceAttributes ?? {}
  const boundaryId = boundaryOfNamespace(namespace)
  // In a known boundary, RBAC decides about objects that are not ours.
  return boundaryId === undefined || scopeOfNamespace(namespace) !== undefined
    ? undefined
    : formatScope({ level: 'boundary', boundaryId })
}

function withReferencedRights(ownerOf: OwnerOfPod, given: readonly ReferencedRight[]): OwnerOfPod {
  if (given.length === 0) return ownerOf
  return (namespace, name) => {
    const owner = ownerOf(namespace, name)
    return owner && { ...owner, referencedRights: [...(owner.referencedRights ?? []), ...given] }
  }
}

/**
 * Answers SubjectAccessReviews for the webhook authorizer of the API server: allowed, denied or no opinion, consistent
 * with REST for the same principal. It answers from memory, but before answering "no opinion" it asks the API server
 * for changes that have not arrived yet. Returns undefined if the body is not such a review.
 */
export function createReviewer({
  access,
  scopeOfNamespace,
  ownerOf,
  givenTo,
  ownerOfPart,
  getGrantRefusal,
  isReady,
  staleness,
  standing,
}: ReviewerOptions) {
  async function verdictOn(spec: z.output<typeof Review>['spec']): Promise<ReviewStatus> {
    if (!isReady()) {
      return { allowed: false, reason: 'The platform is starting and does not know all assignments yet.' }
    }
    const principalId = principalOfUser(spec.user)
    // Permissions may have changed meanwhile. Deny, because otherwise RBAC might answer from the old state.
    if (principalId !== undefined && staleness !== undefined && staleness.age() > staleness.bound)
      return { allowed: false, denied: true, reason: STALE_MESSAGE }
    const ended =
      principalId === undefined
        ? undefined
        : await standing?.endOf(principalId, undefined, spec.extra?.[PRINCIPAL_UID_EXTRA]?.[0] || undefined)
    if (ended !== undefined) return { allowed: false, denied: true, reason: `The principal was ${ended}.` }
    return decide(spec, principalId)
  }
  async function decide(spec: z.output<typeof Review>['spec'], principalId: string | undefined): Promise<ReviewStatus> {
    const { namespace = '', name = '', ...attributes } = spec.resourceAttributes ?? {}
    const given = principalId !== undefined && entersPod(attributes) ? await givenTo(namespace, name) : []
    const now = () => {
      const question = questionOf(spec, scopeOfNamespace, withReferencedRights(ownerOf, given), ownerOfPart)
      return { question, verdict: answerReview(question, access, getGrantRefusal) }
    }
    const { question, verdict } = now()
    if (principalId === undefined) return verdict
    const scope =
      verdict.allowed || verdict.denied === true ? undefined : scopeToCatchUp(question, spec, scopeOfNamespace)
    if (scope !== undefined) await access.catchUp(principalId, scope)
    return shownTo(principalId, namespace, scope === undefined ? verdict : now().verdict)
  }
  /** Hides from callers without a role in a boundary that a namespace belongs to it, and what it contains. */
  function shownTo(principalId: string, namespace: string, verdict: ReviewStatus): ReviewStatus {
    if (verdict.allowed || namespace === '' || namespace === SYSTEM_NAMESPACE) return verdict
    const namespaceScope = scopeOfNamespace(namespace)
    if (namespaceScope !== undefined && isVisible(access, principalId, namespaceScope.boundaryId)) return verdict
    return { ...verdict, reason: `The caller has no role in namespace "${namespace}".` }
  }
  return async (body: unknown): Promise<ReviewAnswer | undefined> => {
    const parsed = Review.safeParse(body)
    if (!parsed.success) return undefined
    return reviewAnswer(await verdictOn(parsed.data.spec))
  }
}
