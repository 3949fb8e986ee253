import { z } from 'zod'
import type { Standing } from '../../api/callers/standing.ts'
import type { Access } from '../../api/http/context.ts'
import { answerTo, type Verdict, type WhyNotGiven } from './answer.ts'
import type { OwnerOfPod } from './podAccess.ts'
import { type OwnerOfPart, type PlaceOfNamespace, principalOfUser, questionOf } from './question.ts'

export { followPlaces, partOwners, podOwners } from './places.ts'
export { principalOfUser } from './question.ts'

/** Which object the token was issued for, as the API server's authentication maps it from the claim. */
const PRINCIPAL_UID_EXTRA = 'freehold.dev/principal-uid'

const API_VERSION = 'authorization.k8s.io/v1'

/** Of a SubjectAccessReview what decides; the rest (selectors) may come and is not read. */
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

export type ReviewAnswer = { apiVersion: string; kind: 'SubjectAccessReview'; status: Verdict }

export type ReviewerOptions = {
  access: Pick<Access, 'explain' | 'scopesWith'>
  placeOf: PlaceOfNamespace
  ownerOf: OwnerOfPod
  ownerOfPart: OwnerOfPart
  whyNotGiven: WhyNotGiven
  /** False until every assignment and deny is known: before that every answer would be wrong. */
  isReady: () => boolean
  /** Denies who was deleted or disabled, whatever role a later authorizer would find. Absent with Keycloak. */
  standing?: Standing | undefined
}

/**
 * Answers SubjectAccessReviews for the API server's webhook authorizer: what the REST interface would answer the same
 * principal, allowed, denied, or no opinion. From memory. Answers undefined for a body that is no such review.
 */
export function createReviewer({
  access,
  placeOf,
  ownerOf,
  ownerOfPart,
  whyNotGiven,
  isReady,
  standing,
}: ReviewerOptions) {
  async function verdictOn(spec: z.output<typeof Review>['spec']): Promise<Verdict> {
    if (!isReady()) {
      return { allowed: false, reason: 'The platform is starting and does not know all assignments yet.' }
    }
    const principalId = principalOfUser(spec.user)
    const ended =
      principalId === undefined
        ? undefined
        : await standing?.endOf(principalId, undefined, spec.extra?.[PRINCIPAL_UID_EXTRA]?.[0] || undefined)
    if (ended !== undefined) return { allowed: false, denied: true, reason: `The principal was ${ended}.` }
    return answerTo(questionOf(spec, placeOf, ownerOf, ownerOfPart), access, whyNotGiven)
  }
  return async (body: unknown): Promise<ReviewAnswer | undefined> => {
    const parsed = Review.safeParse(body)
    if (!parsed.success) return undefined
    return { apiVersion: API_VERSION, kind: 'SubjectAccessReview', status: await verdictOn(parsed.data.spec) }
  }
}
