import { CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace } from '../core/names.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { parseScope } from '../core/scope.ts'
import type { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { BoundaryTrust, DenyAssignment, JitRequest, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { initialOwnerAssignment } from '../desired/boundaries.ts'
import { endOfGrant, endOfRequest } from '../desired/rbac.ts'
import { isKubeError } from '../kube/errors.ts'
import { type Controller, controller, type Pass, type Rights, steps } from './engine/controller.ts'

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

/** Timers cannot be set farther ahead; a pass in between finds nothing to do and sets the next. */
const TIMER_MAX = 2_147_483_647

type Grant = KubeObject & { spec: { scope: string; scopeIncarnation?: string; expiresAt?: string } }

/** Removes what has run out, at its time and not before. The evaluator stopped counting it at that moment already. */
function removeWhenOver(endOf: (object: never) => number | undefined) {
  return async function removeExpired(pass: Pass): Promise<Outcome> {
    const end = endOf(pass.object as never)
    if (end === undefined) return done()
    const left = end - pass.clock.now()
    if (left > 0) return done({ after: Math.min(left, TIMER_MAX) })
    const { uid, resourceVersion } = pass.object.metadata
    // With the version: an end that was put off a moment ago must hold.
    const conditions = { uid, resourceVersion }
    await pass.records.client.remove(pass.kind.resource, refOf(pass.object as KubeObject), conditions)
    pass.log.info({ kind: pass.kind.kind }, 'Removed, because its time is over.')
    return done()
  }
}

/**
 * Ties a grant at a group, or at something in it, to the group by an owner reference, so that it goes with it. Grants
 * at a boundary go with the boundary's namespace.
 */
async function followGroup(pass: Pass): Promise<Outcome> {
  const { metadata, spec } = pass.object as Grant
  const scope = parseScope(spec.scope)
  if (scope === undefined || !('resourceGroup' in scope)) return done()
  const { boundaryId, resourceGroup } = scope
  if (metadata.namespace !== boundaryNamespace(boundaryId)) return done()
  const group = pass.records.cache(ResourceGroup.resource).get(metadata.namespace, resourceGroup)
  const { uid = '', annotations } = group?.metadata ?? {}
  const isOtherLife =
    scope.level === 'resourceGroup' &&
    spec.scopeIncarnation !== undefined &&
    spec.scopeIncarnation !== annotations?.[INCARNATION_ANNOTATION]
  if (group === undefined || isOtherLife) return done()
  const { ownerReferences = [] } = metadata
  if (ownerReferences.some((owner) => owner.uid === uid)) return done()
  // A reference to an earlier life would have the garbage collector keep or take it for the wrong reason.
  const others = ownerReferences.filter(({ kind }) => kind !== ResourceGroup.kind)
  const { apiVersion, kind } = ResourceGroup
  const patch = { metadata: { ownerReferences: [...others, { apiVersion, kind, name: resourceGroup, uid }] } }
  const conditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
  await pass.records.client.mergePatch(pass.kind.resource, refOf(pass.object as KubeObject), patch, conditions)
  return done()
}

function grantController(kind: AnyKind, endOf: (object: never) => number | undefined): Controller {
  return controller(kind, {
    observes: [],
    reads: [ResourceGroup.resource],
    childrenIn: 'records',
    writes: [{ resource: kind.resource, verbs: ['delete'] }],
    reconcile: steps(removeWhenOver(endOf), followGroup),
  })
}

/** Grants and denies that end by themselves, and requests that run out. */
export const grantControllers: readonly Controller[] = [
  grantController(RoleAssignment, endOfGrant),
  grantController(DenyAssignment, endOfGrant),
  grantController(JitRequest, endOfRequest),
  controller(BoundaryTrust, {
    observes: [],
    childrenIn: 'records',
    writes: [{ resource: BoundaryTrust.resource, verbs: ['delete'] }],
    reconcile: removeWhenOver(endOfGrant),
  }),
]
