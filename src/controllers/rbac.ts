import { faultsSentence, type PatternLists } from '../core/actionPatterns.ts'
import {
  CREATED_BY_ANNOTATION,
  INCARNATION_ANNOTATION,
  INITIAL_OWNER_ASSIGNED_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
  ROLE_INCARNATION_ANNOTATION,
} from '../core/labels.ts'
import { boundaryNamespace } from '../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { parseScope } from '../core/scope.ts'
import type { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { BoundaryTrust, DenyAssignment, JitRequest, RoleAssignment, RoleDefinition } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { incarnationOfRole, roleIncarnationOf, roleNamed } from '../crds/roleIncarnations.ts'
import { SCOPE_KINDS, scopeIncarnationOf } from '../crds/scopeObjects.ts'
import { initialOwnerAssignment } from '../desired/boundaries.ts'
import { grantExpiryOf, requestRemovalTimeOf } from '../desired/rbac.ts'
import { BUILT_IN_ROLES } from '../iam/roles.ts'
import { namespace } from '../kube/builtin.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'
import { type Controller, controller, type Pass, type Rights, type Step, steps } from './engine/controller.ts'
import { related } from './engine/lookups.ts'
import { PHASE_INDEX } from './engine/phaseIndex.ts'
import { JIT_OBSERVES, keepTemporaryGrant, revokeOnDeletion } from './jit.ts'
import { bindToPrincipals, PRINCIPAL_RIGHTS, principalObservers } from './principals.ts'
import { bindToScopeIncarnation, scopeObservers } from './scopeIncarnation.ts'
import { deleteWithBoundaries, TRUST_BOUNDARY_OBSERVER } from './trusts.ts'

export const INITIAL_OWNER_RIGHTS: readonly Rights[] = [{ resource: RoleAssignment.resource, verbs: ['create'] }]

/**
 * Makes the initial owner Owner, once. The annotation records that, so that an owner removed later does not come back.
 * The assignment is not a child: it is deleted with the boundary's namespace, and until then managed like any other.
 */
export async function assignInitialOwner(pass: Pass<typeof Boundary>): Promise<Outcome> {
  const { metadata, spec } = pass.object
  if (metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined) return done()
  const assignment = initialOwnerAssignment(pass.object, pass.incarnation)
  if (assignment === undefined || spec.initialOwner === undefined) return done()
  const { principalId } = spec.initialOwner
  const { client } = pass.records
  // Keep the recorded incarnation: a later principal with the id of a deleted one is not meant.
  const recorded = metadata.annotations?.[PRINCIPAL_INCARNATIONS_ANNOTATION]
  const annotations = {
    [CREATED_BY_ANNOTATION]: principalId,
    ...(recorded !== undefined && { [PRINCIPAL_INCARNATIONS_ANNOTATION]: recorded }),
  }
  const made = { ...assignment, metadata: { ...assignment.metadata, annotations } }
  // An earlier pass may have created it and died before setting the annotation.
  await client.create(RoleAssignment.resource, made).catch(ignoreKubeAlreadyExists)
  const patch = { metadata: { annotations: { [INITIAL_OWNER_ASSIGNED_ANNOTATION]: assignment.metadata.name } } }
  await client.mergePatch(pass.kind.resource, { name: metadata.name }, patch, { uid: metadata.uid })
  return done()
}

/** Milliseconds until our own write must have reached the cache. */
const CACHE_DELAY_MS = 1_000

type Grant = KubeObject & { spec: { scope: string; scopeIncarnation?: string } }

/** Deletes expired objects at their time. The evaluator ignores them from that moment on anyway. */
function removeWhenExpired(endOf: (object: never) => number | undefined) {
  return async function removeExpired(pass: Pass): Promise<Outcome> {
    const expiresAt = endOf(pass.object as never)
    if (expiresAt === undefined) return done()
    const remainingMs = expiresAt - pass.clock.now()
    if (remainingMs > 0) return done({ after: remainingMs })
    const { uid, resourceVersion } = pass.object.metadata
    // With the version, so that a recently extended expiry holds.
    const conditions = { uid, resourceVersion }
    await pass.records.client.remove(pass.kind.resource, refOf(pass.object as KubeObject), conditions)
    pass.log.info({ kind: pass.kind.kind }, 'Removed, because its time is over.')
    return done()
  }
}

/**
 * Sets the group as owner of a grant at the group or a resource in it, so that the grant is deleted with the group.
 * Grants at a boundary are deleted with the boundary's namespace.
 */
async function setGroupOwner(pass: Pass): Promise<Outcome> {
  const { metadata, spec } = pass.object as Grant
  const scope = parseScope(spec.scope)
  if (scope === undefined || !('resourceGroup' in scope)) return done()
  const { boundaryId, resourceGroup } = scope
  if (metadata.namespace !== boundaryNamespace(boundaryId)) return done()
  const group = pass.records.cache(ResourceGroup).get(metadata.namespace, resourceGroup)
  const { uid = '', annotations } = group?.metadata ?? {}
  const isOtherLife =
    scope.level === 'resourceGroup' &&
    scopeIncarnationOf(pass.object as Grant) !== annotations?.[INCARNATION_ANNOTATION]
  if (group === undefined || isOtherLife) return done()
  const { ownerReferences = [] } = metadata
  if (ownerReferences.some((owner) => owner.uid === uid)) return done()
  // A reference to an earlier incarnation of the group would mislead the garbage collector.
  const others = ownerReferences.filter(({ kind }) => kind !== ResourceGroup.kind)
  const { apiVersion, kind } = ResourceGroup
  const patch = { metadata: { ownerReferences: [...others, { apiVersion, kind, name: resourceGroup, uid }] } }
  const conditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
  await pass.records.client.mergePatch(pass.kind.resource, refOf(pass.object as KubeObject), patch, conditions)
  return done()
}

/**
 * Records the incarnation of the custom role in an assignment made with kubectl or Git. Without the role, it reports
 * that the assignment grants nothing.
 */
async function recordRole(pass: Pass): Promise<Outcome> {
  const assignment = pass.object as RoleAssignment & KubeObject
  const { metadata, spec } = assignment
  if (isBuiltInName(spec.roleDefinitionName)) return done()
  const roles = related(pass.records.cache(RoleDefinition), 'role', spec.roleDefinitionName)
  const incarnation = incarnationOfRole(roles, spec.roleDefinitionName)
  const recorded = roleIncarnationOf(assignment)
  if (recorded !== undefined)
    return recorded === incarnation ? done() : stalled('ReferenceMissing', roleIsGone(assignment))
  if (incarnation === undefined) {
    const exists = roleNamed(roles, spec.roleDefinitionName) !== undefined
    return exists ? done() : waiting('WaitingForDependency', `There is no role "${spec.roleDefinitionName}" yet.`)
  }
  const patch = { metadata: { annotations: { [ROLE_INCARNATION_ANNOTATION]: incarnation } } }
  const { uid, resourceVersion } = metadata
  await pass.records.client.mergePatch(pass.kind.resource, refOf(assignment), patch, { uid, resourceVersion })
  // The write wakes us again, with the version that the next steps need.
  return waiting('WaitingForDependency', 'The incarnation of the role was recorded.', CACHE_DELAY_MS)
}

/** A role re-created under the same name is a different role, which nobody was assigned. */
const roleIsGone = ({ spec }: RoleAssignment) =>
  `The role "${spec.roleDefinitionName}" was deleted, so this assignment grants nothing: delete it, or create it again for a role that exists.`

const isBuiltInName = (displayName: string) => BUILT_IN_ROLES.some((role) => role.displayName === displayName)

/** Wakes the assignments that name a custom role when it is created, renamed or deleted. */
const ROLE_OF_ASSIGNMENTS: Controller['observes'][number] = {
  resource: RoleDefinition.resource,
  in: 'records',
  relevant: ({ spec, metadata }) => [
    (spec as RoleDefinition['spec']).displayName,
    metadata.annotations?.[INCARNATION_ANNOTATION],
  ],
  keysOf: ({ metadata, spec }, records) => {
    const assignments = records.cache(RoleAssignment)
    const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION]
    return [
      ...related(assignments, 'role', (spec as RoleDefinition['spec']).displayName),
      // The event does not tell the role's previous name. Assignments without an incarnation wait for their role.
      ...related(assignments, 'roleIncarnation', incarnation),
      ...related(assignments, 'roleIncarnation', undefined),
    ].map(keyOf)
  },
}

function grantController(
  kind: AnyKind,
  endOf: (object: never) => number | undefined,
  more: { observes?: Controller['observes']; step?: Step; finalize?: Step; writes?: readonly Rights[] } = {},
): Controller {
  return controller(kind, {
    observes: [...scopeObservers(kind), ...principalObservers(kind), ...(more.observes ?? [])],
    reads: [namespace, ...SCOPE_KINDS.map(({ resource }) => resource)],
    childrenIn: 'records',
    writes: [{ resource: kind.resource, verbs: ['delete'] }, ...PRINCIPAL_RIGHTS, ...(more.writes ?? [])],
    reconcile: steps(
      removeWhenExpired(endOf),
      bindToScopeIncarnation,
      bindToPrincipals as Step,
      setGroupOwner,
      ...(more.step === undefined ? [] : [more.step]),
    ),
    ...(more.finalize === undefined ? {} : { finalize: more.finalize }),
  })
}

/** Reports invalid patterns, which bypassed admission or come from an earlier version. */
function checkPatterns({ kind, object }: Pass): Outcome {
  const { spec } = object as unknown as { spec: PatternLists }
  const faults = faultsSentence(spec)
  if (faults === undefined) return done()
  const isRole = kind === RoleDefinition
  const consequence = isRole ? 'A role grants nothing while a pattern is invalid.' : 'The other actions are denied.'
  return stalled('ConfigurationInvalid', `${faults} ${consequence}`)
}

/** Reports a display name that another role holds, which bypassed admission or comes from an earlier version. */
function checkDisplayName({ object, records }: Pass): Outcome {
  const { metadata, spec } = object as unknown as RoleDefinition & KubeObject
  const { displayName } = spec
  const builtIn = BUILT_IN_ROLES.find((role) => role.displayName === displayName)
  const first =
    builtIn?.name ??
    roleNamed(related(records.cache(RoleDefinition), 'role', displayName), displayName)?.metadata.name ??
    metadata.name
  if (first === metadata.name) return done()
  const holder = builtIn === undefined ? `the older role ${first}` : 'a built-in role'
  return stalled(
    'NameOccupied',
    `It grants nothing: the display name "${displayName}" belongs to ${holder}. Choose another displayName.`,
  )
}

/** Wakes roles whose name is taken when another role is deleted or renamed. */
const OTHER_ROLES: Controller['observes'][number] = {
  resource: RoleDefinition.resource,
  in: 'records',
  relevant: ({ spec }) => (spec as RoleDefinition['spec']).displayName,
  keysOf: ({ spec }, records) => {
    const roles = records.cache(RoleDefinition)
    const { displayName } = spec as RoleDefinition['spec']
    return [...related(roles, 'role', displayName), ...roles.byIndex(PHASE_INDEX, 'NameOccupied')].map(keyOf)
  },
}

/** A role is data: its controller gives it the incarnation that assignments refer to, and reports its faults. */
const roleController = controller(RoleDefinition, {
  observes: [OTHER_ROLES],
  childrenIn: 'records',
  writes: [],
  reconcile: steps(checkPatterns as Step, checkDisplayName as Step) as never,
})

/** Controllers of grants and denies that expire, of just-in-time requests, and of roles and trusts. */
export const grantControllers: readonly Controller[] = [
  roleController,
  grantController(RoleAssignment, grantExpiryOf, { observes: [ROLE_OF_ASSIGNMENTS], step: recordRole }),
  grantController(DenyAssignment, grantExpiryOf, { step: checkPatterns }),
  grantController(JitRequest, requestRemovalTimeOf, {
    observes: JIT_OBSERVES,
    step: keepTemporaryGrant as unknown as Step,
    finalize: revokeOnDeletion as unknown as Step,
    writes: [{ resource: RoleAssignment.resource, verbs: ['create', 'delete'] }],
  }),
  controller(BoundaryTrust, {
    observes: [TRUST_BOUNDARY_OBSERVER],
    childrenIn: 'records',
    writes: [{ resource: BoundaryTrust.resource, verbs: ['delete'] }],
    reconcile: steps(removeWhenExpired(grantExpiryOf) as Step, deleteWithBoundaries),
  }),
]
