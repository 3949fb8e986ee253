import type { Access } from '../../api/http/context.ts'
import type { ReviewQuestion } from './question.ts'

/**
 * The status of a SubjectAccessReview. `denied` is final; neither allowed nor denied leaves the decision to later
 * authorizers.
 */
export type ReviewStatus = { readonly allowed: boolean; readonly denied?: true; readonly reason: string }

export const API_VERSION = 'authorization.k8s.io/v1'

export type ReviewAnswer = { apiVersion: string; kind: 'SubjectAccessReview'; status: ReviewStatus }

export const reviewAnswer = (status: ReviewStatus): ReviewAnswer => ({
  apiVersion: API_VERSION,
  kind: 'SubjectAccessReview',
  status,
})

/** Returns why a principal may not grant a role at a scope, with the message of REST; undefined if it may. */
export type GetGrantRefusal = (principalId: string, roleName: string, scope: string) => string | undefined

/** Translates the evaluator's answer for the API server, without I/O. */
export function answerReview(
  question: ReviewQuestion,
  access: Pick<Access, 'explain' | 'scopesWith'>,
  getGrantRefusal: GetGrantRefusal,
): ReviewStatus {
  if (question.asks === 'nothing') return { allowed: question.isAllowed, reason: question.reason }
  if (question.asks === 'grant') {
    const { principalId, roleName, scope } = question
    const refusal = getGrantRefusal(principalId, roleName, scope)
    return { allowed: refusal === undefined, reason: refusal ?? `Holds all of "${roleName}" at ${scope}` }
  }
  const { alsoRequired = [], ...first } = question
  const verdict = answerToOne(first, access)
  if (!verdict.allowed) return verdict
  return (
    alsoRequired.map((more) => answerToOne({ ...first, ...more }, access)).find(({ allowed }) => !allowed) ?? verdict
  )
}

function answerToOne(
  {
    principalId,
    action,
    scope,
    isOfAll,
    shows = [],
  }: Omit<Extract<ReviewQuestion, { asks: 'evaluator' }>, 'asks' | 'alsoRequired'>,
  access: Pick<Access, 'explain' | 'scopesWith'>,
): ReviewStatus {
  const { allowed, reason, decidedBy } = access.explain(principalId, action, scope)
  if (reason === 'DeniedByAssignment')
    return { allowed: false, denied: true, reason: `${action} is denied at ${decidedBy?.scope ?? scope}.` }
  if (!allowed) return { allowed: false, reason: `The permission ${action} is missing at ${scope}.` }
  for (const read of isOfAll ? [action, ...shows] : []) {
    const closed = findDeniedBelow(access.scopesWith(principalId, read).denied, scope)
    if (closed === undefined) continue
    // A list cannot omit single objects. Deny it, because a later authorizer might allow it.
    const sentence = `${read} is denied at ${closed}, so not all objects may be read at once: name the object.`
    return { allowed: false, denied: true, reason: sentence }
  }
  return { allowed: true, reason: `${decidedBy?.roleDefinitionName ?? reason} at ${decidedBy?.scope ?? scope}` }
}

function findDeniedBelow(denied: readonly string[], scope: string): string | undefined {
  const prefix = scope === '/' ? '/' : `${scope}/`
  return denied.find((one) => one.startsWith(prefix))
}
