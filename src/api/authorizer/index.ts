import { z } from 'zod'
import type { Access } from '../context.ts'
import { answerTo, type Verdict, type WhyNotGiven } from './answer.ts'
import { type PlaceOfNamespace, questionOf } from './question.ts'

export { followPlaces } from './places.ts'
export { principalOfUser } from './question.ts'

const API_VERSION = 'authorization.k8s.io/v1'

/** Of a SubjectAccessReview what decides; the rest (extra, selectors) may come and is not read. */
const Review = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('SubjectAccessReview'),
  spec: z.object({
    user: z.string().optional(),
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
  whyNotGiven: WhyNotGiven
  /** False until every assignment and deny is known: before that every answer would be wrong. */
  isReady: () => boolean
}

/**
 * Answers SubjectAccessReviews for the API server's webhook authorizer: what the REST interface would answer the same
 * principal, allowed, denied, or no opinion. No I/O. Answers undefined for a body that is no such review.
 */
export function createReviewer({ access, placeOf, whyNotGiven, isReady }: ReviewerOptions) {
  return (body: unknown): ReviewAnswer | undefined => {
    const parsed = Review.safeParse(body)
    if (!parsed.success) return undefined
    const status = isReady()
      ? answerTo(questionOf(parsed.data.spec, placeOf), access, whyNotGiven)
      : { allowed: false, reason: 'The platform is starting and does not know all assignments yet.' }
    return { apiVersion: API_VERSION, kind: 'SubjectAccessReview', status }
  }
}
