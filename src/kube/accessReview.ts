import { z } from 'zod'
import type { KubeClient } from './client.ts'

/** A question to the API server's authorizers, the platform's webhook among them: may this user do this? */
export type AccessReviewRequest = {
  readonly user: string
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace: string
  readonly name?: string
}

/** The resource of access reviews, for granting the right to create them. */
export const subjectAccessReview = { group: 'authorization.k8s.io', plural: 'subjectaccessreviews' }
const API_VERSION = `${subjectAccessReview.group}/v1`
const Answer = z.object({ status: z.object({ allowed: z.boolean() }) })

/**
 * Asks the API server with a SubjectAccessReview. Also returns false if an authorizer failed to answer, so ask again
 * before you treat false as final.
 *
 * @throws KubeError if the API server cannot be reached; Error if it does not answer the question
 */
export async function isAccessAllowed(
  client: Pick<KubeClient, 'request'>,
  { user, ...resourceAttributes }: AccessReviewRequest,
): Promise<boolean> {
  const review = { apiVersion: API_VERSION, kind: 'SubjectAccessReview', spec: { user, resourceAttributes } }
  const answer = await client.request({
    method: 'POST',
    path: `/apis/${API_VERSION}/${subjectAccessReview.plural}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(review),
  })
  const text = await answer.text()
  if (answer.status !== 201) throw new Error(`The API server refused a SubjectAccessReview (HTTP ${answer.status}).`)
  return Answer.parse(JSON.parse(text)).status.allowed
}
