import { CREATED_BY_ANNOTATION, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../core/labels.ts'
import { done, type Outcome } from '../core/outcome.ts'
import type { Boundary } from '../crds/boundaries.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { initialOwnerAssignment } from '../desired/boundaries.ts'
import { isKubeError } from '../kube/errors.ts'
import type { Pass, Rights } from './engine/controller.ts'

export const INITIAL_OWNER_RIGHTS: readonly Rights[] = [{ resource: RoleAssignment.resource, verbs: ['create'] }]

/**
 * Makes the initial owner Owner, once. Afterwards the annotation says that it was done, so that an owner who is removed
 * later does not come back. The assignment is no child: it is deleted with the boundary's namespace, and until then
 * belongs to whoever manages the members.
 */
export async function assignInitialOwner(pass: Pass<typeof Boundary>): Promise<Outcome> {
  const { metadata, spec } = pass.object
  if (metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined) return done()
  const assignment = initialOwnerAssignment(pass.object, pass.incarnation)
  if (assignment === undefined || spec.initialOwner === undefined) return done()
  const annotations = { [CREATED_BY_ANNOTATION]: spec.initialOwner.principalId }
  const { client } = pass.records
  try {
    await client.create(RoleAssignment.resource, {
      ...assignment,
      metadata: { ...assignment.metadata, annotations },
    })
  } catch (error) {
    // An earlier pass made it and was stopped before it could say so.
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
  const patch = { metadata: { annotations: { [INITIAL_OWNER_ASSIGNED_ANNOTATION]: assignment.metadata.name } } }
  await client.mergePatch(pass.kind.resource, { name: metadata.name }, patch, { uid: metadata.uid })
  return done()
}
