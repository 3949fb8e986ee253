import { done, type Outcome } from '../core/outcome.ts'
import { MemberInvitation, PasswordReset } from '../crds/invitations.ts'
import { isOpen } from '../iam/invitations.ts'
import { isKubeError } from '../kube/errors.ts'
import { controller, type Pass, steps } from './engine/controller.ts'

/** How long an expired reset stays, so that its link is told from one that never was. */
const KEEP_EXPIRED = 86_400_000

/** Sets invitations to Expired at their time. */
export const invitationController = controller(MemberInvitation, {
  observes: [],
  writes: [],
  reconcile: steps(expireInvitation),
})

export async function expireInvitation(pass: Pass<typeof MemberInvitation>): Promise<Outcome> {
  const { spec, metadata } = pass.object
  if (!isOpen(spec.state)) return done()
  const left = Date.parse(spec.expiresAt) - Date.parse(pass.now)
  if (left > 0) return done({ after: left })
  const { namespace, name, uid, resourceVersion } = metadata
  try {
    // Only over what was seen: an accept at the last moment must not be written over.
    const preconditions = { uid, resourceVersion }
    const patch = { spec: { state: 'Expired' } }
    await pass.records.client.mergePatch(pass.kind.resource, { namespace, name }, patch, preconditions)
  } catch (error) {
    // Whoever wrote in between wakes us again.
    if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
  }
  return done()
}

/** Deletes password resets that were used, or expired a while ago. */
export const passwordResetController = controller(PasswordReset, {
  observes: [],
  writes: [{ resource: PasswordReset.resource, verbs: ['delete'] }],
  reconcile: steps(removeReset),
})

export async function removeReset(pass: Pass<typeof PasswordReset>): Promise<Outcome> {
  const { spec, metadata } = pass.object
  const left = Date.parse(spec.expiresAt) + KEEP_EXPIRED - Date.parse(pass.now)
  if (spec.usedAt === undefined && left > 0) return done({ after: left })
  const { namespace, name, uid } = metadata
  await pass.records.client.remove(pass.kind.resource, { namespace, name }, { uid })
  return done()
}
