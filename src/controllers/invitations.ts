import { DAY_MS } from '../core/clock.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { MemberInvitation, PasswordReset } from '../crds/invitations.ts'
import { SCOPE_KINDS, scopeObjectKey } from '../crds/scopeObjects.ts'
import { isInvitationOpen } from '../iam/invitations.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import { controller, type Observed, type Pass, steps } from './engine/controller.ts'
import { related, targetOf } from './engine/lookups.ts'

/** Milliseconds for which expired resets are kept, so that an expired link can be told from an invalid one. */
const EXPIRED_TTL_MS = DAY_MS

/** Wakes open invitations when their scope is deleted or re-created. */
const scopeObserver = ({ resource }: AnyKind): Observed => ({
  resource,
  relevant: ({ metadata }) => metadata.annotations?.[INCARNATION_ANNOTATION],
  keysOf: ({ metadata: { namespace, name } }, records) => {
    const key = scopeObjectKey(resource, namespace, name)
    return related(records.cache(MemberInvitation), 'scope', key).map(keyOf)
  },
})

/** Ends invitations: as Expired when their time is over, as Revoked when their scope is gone. */
export const invitationController = controller(MemberInvitation, {
  observes: SCOPE_KINDS.map(scopeObserver),
  writes: [],
  reconcile: steps(endInvitation),
})

export async function endInvitation(pass: Pass<typeof MemberInvitation>): Promise<Outcome> {
  const { spec } = pass.object
  if (!isInvitationOpen(spec.state)) return done()
  const remainingMs = Date.parse(spec.expiresAt) - Date.parse(pass.now)
  if (remainingMs <= 0) return writeState(pass, 'Expired')
  return (await isScopeGone(pass)) ? writeState(pass, 'Revoked') : done({ after: remainingMs })
}

/** Whether the scope is gone. Asks the API server if the cache disagrees, because it may be stale. */
async function isScopeGone({ object, records }: Pass<typeof MemberInvitation>): Promise<boolean> {
  const target = targetOf(object.spec)
  const { scopeIncarnation } = object.spec
  if (target === undefined || scopeIncarnation === undefined) return false
  const { resource, namespace, name } = target
  const isIt = (found: KubeObject | undefined) =>
    found?.metadata.annotations?.[INCARNATION_ANNOTATION] === scopeIncarnation
  if (isIt(records.cache(resource).get(namespace, name))) return false
  return !isIt(await records.client.get(resource, { namespace, name }).catch(absent))
}

async function writeState(pass: Pass<typeof MemberInvitation>, state: 'Expired' | 'Revoked'): Promise<Outcome> {
  const { namespace, name, uid, resourceVersion } = pass.object.metadata
  try {
    // With the version, so that an accept at the last moment is not overwritten.
    const preconditions = { uid, resourceVersion }
    await pass.records.client.mergePatch(pass.kind.resource, { namespace, name }, { spec: { state } }, preconditions)
  } catch (error) {
    // The other write wakes us again.
    if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
  }
  return done()
}

/** Deletes password resets that were used or expired some time ago. */
export const passwordResetController = controller(PasswordReset, {
  observes: [],
  writes: [{ resource: PasswordReset.resource, verbs: ['delete'] }],
  reconcile: steps(removeReset),
})

export async function removeReset(pass: Pass<typeof PasswordReset>): Promise<Outcome> {
  const { spec, metadata } = pass.object
  const remainingMs = Date.parse(spec.expiresAt) + EXPIRED_TTL_MS - Date.parse(pass.now)
  if (spec.usedAt === undefined && remainingMs > 0) return done({ after: remainingMs })
  const { namespace, name, uid } = metadata
  await pass.records.client.remove(pass.kind.resource, { namespace, name }, { uid })
  return done()
}
