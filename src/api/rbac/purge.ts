import { z } from 'zod'
import { ignoreNotFound } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { DenyAssignment, JitRequest, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { ok } from '../http/answer.ts'
import type { Caller, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { findBoundary } from '../resources/find.ts'
import { boundaryLock, withChangeLock } from '../rules/changeLocks.ts'

const AuthorizationPurgeResult = namedRecord('AuthorizationPurgeResult', {
  assignments: z.int(),
  denyAssignments: z.int(),
  invitations: z.int(),
  jitRequests: z.int(),
  groups: z.int(),
})

/** Removes all objects of a kind in a boundary. Objects that are already gone are not counted. */
export async function removeAll(services: Services, caller: Caller, kind: AnyKind, namespace: string): Promise<number> {
  let count = 0
  for (const { metadata } of await services.records.list(kind, { namespace }, { fresh: true })) {
    const removed = services.records.remove(kind, { namespace, name: metadata.name }, { caller })
    if ((await removed.catch(ignoreNotFound)) !== undefined) count += 1
  }
  return count
}

export const purgeRoutes: readonly RouteDraft[] = [
  route('POST', '{B}/providers/authorization/purge', {
    auth: action('boundaries/delete'),
    scope: 'root',
    summary: 'Remove every assignment, deny, request, invitation and group of the boundary',
    reply: AuthorizationPurgeResult,
    handler: async (context) => {
      const { services, caller, parameters } = context
      const { boundaryId } = parameters
      await findBoundary(context, boundaryId)
      const namespace = boundaryNamespace(boundaryId)
      return withChangeLock(services, boundaryLock(boundaryId), async () => {
        const remove = (kind: AnyKind) => removeAll(services, caller, kind, namespace)
        // Requests and invitations first, so that none is approved in between; denies last.
        const jitRequests = await remove(JitRequest)
        const invitations = await remove(MemberInvitation)
        const assignments = await remove(RoleAssignment)
        const groups = await remove(PrincipalGroup)
        const denyAssignments = await remove(DenyAssignment)
        return ok({ assignments, denyAssignments, invitations, jitRequests, groups })
      })
    },
  }),
]
