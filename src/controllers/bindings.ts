import { BINDING_LABEL } from '../contracts/sso.ts'
import { createdByOf, INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { byAge, type KubeObject, keyOf, type Resource, refOf } from '../core/object.ts'
import { done, type Outcome, REQUEUE_NOW, stalled, waiting } from '../core/outcome.ts'
import { parseScope } from '../core/scope.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { PlatformUser } from '../crds/identity.ts'
import { PlatformUser as UserKind } from '../crds/identity.ts'
import { incarnationsNamedBy } from '../crds/principals.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { scopeIncarnationOf } from '../crds/scopeObjects.ts'
import { IdpBinding } from '../crds/sso.ts'
import { bindingAssignment } from '../desired/bindings.ts'
import { isBoundBy } from '../iam/bindings.ts'
import { absent, ignoreKubeAlreadyExists } from '../kube/errors.ts'
import { type BindingPass, reconcileGrants, usersGrantedBy } from './bindingGrants.ts'
import { controller, type Observed, steps, type Workspace } from './engine/controller.ts'
import { BINDING_HOLDER_INDEX } from './engine/principalIndex.ts'
import { assignIncarnation, writeIncarnations } from './principals.ts'
import { objectAt, recordScopeIncarnation } from './scopeIncarnation.ts'
import { ownedByTenant, tenantObserver } from './tenantOwnership.ts'

type User = PlatformUser & KubeObject
type Group = KubeObject & { spec: { memberIds: readonly string[] } }

const tenantOf = ({ spec }: KubeObject) => (spec as IdpBinding['spec']).tenantId

/** Observes boundaries or groups being created, deleted or re-created. */
function scopeObserver(
  resource: Resource,
  isOf: (boundaryId: string, place: KubeObject['metadata']) => boolean,
): Observed {
  return {
    resource,
    keysOf: ({ metadata }, records) => bindingsWhere(records, (one) => isOf(boundaryOf(one) ?? '', metadata)),
    relevant: ({ metadata }) => [metadata.deletionTimestamp, metadata.annotations?.[INCARNATION_ANNOTATION]],
  }
}

/**
 * Gives users what the bindings of their tenant say: a RoleAssignment each, or membership in a group. What the issuer
 * no longer says at a sign-in is revoked, and everything when the binding is deleted. What somebody removed by hand
 * stays removed until the issuer has stopped naming the user.
 */
export const bindingController = controller(IdpBinding, {
  observes: [
    // Ignore changes that only record a sign-in: every binding of the tenant would look at all users.
    {
      resource: UserKind.resource,
      in: 'records',
      keysOf: bindingsOf,
      relevant: ({ metadata: { uid, deletionTimestamp }, spec }) => [
        uid,
        deletionTimestamp,
        (spec as User['spec']).externalIdentity,
      ],
    },
    tenantObserver(IdpBinding, tenantOf),
    // Only creation and deletion: members are checked when users change.
    {
      resource: PrincipalGroup.resource,
      in: 'records',
      keysOf: ({ metadata }, records) => bindingsWhere(records, ({ spec }) => spec.groupId === metadata.name),
      relevant: ({ metadata }) => metadata.uid,
    },
    scopeObserver(Boundary.resource, (boundaryId, { name }) => name === boundaryId),
    scopeObserver(ResourceGroup.resource, (boundaryId, { namespace }) => namespace === boundaryNamespace(boundaryId)),
  ],
  reads: [{ resource: RoleAssignment.resource, in: 'records' }],
  writes: [
    { resource: RoleAssignment.resource, verbs: ['create', 'delete'] },
    { resource: PrincipalGroup.resource, verbs: ['patch'] },
  ],
  reconcile: steps(ownedByTenant(tenantOf), recordScope, reconcileAssignments, recordGroup, reconcileMembers),
  finalize: steps(revokeAll),
})

/** Returns the bindings of the user's tenant, and those that gave the user something, possibly in another tenant. */
function bindingsOf(object: KubeObject, records: Workspace): string[] {
  const { metadata, spec } = object as User
  const given = records
    .cache(RoleAssignment)
    .byIndex(BINDING_HOLDER_INDEX, metadata.name)
    .map((one) => one.metadata.labels?.[BINDING_LABEL] ?? '')
  return bindingsWhere(
    records,
    (one) =>
      one.spec.tenantId === spec.externalIdentity?.tenantId ||
      given.includes(one.metadata.name) ||
      usersGrantedBy(one.status).has(metadata.name),
  )
}

function bindingsWhere(records: Workspace, concerns: (binding: IdpBinding) => boolean): string[] {
  const all = records.cache(IdpBinding).list({ namespace: SYSTEM_NAMESPACE })
  return all.filter(concerns).map(keyOf)
}

/** Returns the boundary in which a binding grants a role. */
function boundaryOf({ spec }: Pick<IdpBinding, 'spec'>): string | undefined {
  const place = parseScope(spec.scope ?? '/')
  return place === undefined || place.level === 'root' ? undefined : place.boundaryId
}

/** Returns the users a binding applies to, except its creator: users must not grant themselves what they may grant. */
function boundUserIds({ records, object }: BindingPass): string[] {
  const creatorId = createdByOf(object.metadata)
  return records
    .cache(UserKind)
    .list({ namespace: SYSTEM_NAMESPACE })
    .filter(
      ({ metadata, spec }) =>
        metadata.deletionTimestamp === undefined &&
        metadata.name !== creatorId &&
        isBoundBy(spec.externalIdentity, object.spec),
    )
    .map(({ metadata }) => metadata.name)
    .sort()
}

type Assignment = RoleAssignment & KubeObject
const principalIdOf = ({ spec }: Assignment) => spec.principalId

async function reconcileAssignments(pass: BindingPass): Promise<Outcome> {
  const { metadata, spec } = pass.object
  if (spec.groupId !== undefined) return done()
  if (isWithoutBoundary(pass) || isScopeRecreated(pass))
    return stalled('ReferenceMissing', `What was at ${spec.scope} no longer exists.`)
  const present = assignmentsOf(pass)
  const labelSelector = `${BINDING_LABEL}=${metadata.name}`
  return reconcileGrants(pass, boundUserIds(pass), {
    holders: new Set(present.map(principalIdOf)),
    isExclusive: true,
    readHolders: async () => {
      const { items } = await pass.records.client.list<Assignment>(RoleAssignment.resource, { labelSelector })
      return new Set(items.map(principalIdOf))
    },
    setHolders: (userIds) => replaceAssignments(pass, present, userIds),
  })
}

/** Whether the boundary is gone: then so are the assignments in its namespace. */
function isWithoutBoundary({ records, object }: BindingPass): boolean {
  const boundaryId = boundaryOf(object)
  if (boundaryId === undefined) return false
  const boundary = records.cache(Boundary).get(undefined, boundaryId)
  return boundary === undefined || boundary.metadata.deletionTimestamp !== undefined
}

/** Returns the incarnation of the object at the scope, if the cache has it. */
function incarnationAtScope({ records, object }: BindingPass): string | undefined {
  const scope = parseScope(object.spec.scope ?? '/')
  return scope && objectAt(scope, records)?.metadata.annotations?.[INCARNATION_ANNOTATION]
}

function isScopeRecreated(pass: BindingPass): boolean {
  const [recorded, present] = [scopeIncarnationOf(pass.object), incarnationAtScope(pass)]
  return recorded !== undefined && present !== undefined && recorded !== present
}

/** Records the incarnation of the scope if kubectl or Git left it out: the first one that exists. */
async function recordScope(pass: BindingPass): Promise<Outcome> {
  const incarnation = incarnationAtScope(pass)
  if (incarnation === undefined || scopeIncarnationOf(pass.object) !== undefined) return done()
  return recordScopeIncarnation(pass, incarnation)
}

function assignmentsOf({ records, object }: BindingPass): readonly Assignment[] {
  return records
    .cache(RoleAssignment)
    .list({})
    .filter(({ metadata }) => metadata.labels?.[BINDING_LABEL] === object.metadata.name)
}

async function replaceAssignments(
  { records, object }: BindingPass,
  present: readonly Assignment[],
  userIds: readonly string[],
): Promise<void> {
  const { client } = records
  const wanted = userIds.flatMap((id) => bindingAssignment(object, id) ?? [])
  const kept = new Set(wanted.map(keyOf))
  for (const assignment of present.filter((one) => !kept.has(keyOf(one)))) {
    await client.remove(RoleAssignment.resource, refOf(assignment), { uid: assignment.metadata.uid })
  }
  const existingKeys = new Set(present.map(keyOf))
  for (const assignment of wanted.filter((one) => !existingKeys.has(keyOf(one)))) {
    await client.create(RoleAssignment.resource, assignment).catch(ignoreKubeAlreadyExists)
  }
}

/** Records which group is meant: the one with this id when the binding is first reconciled. */
async function recordGroup(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  const object = pass.object as IdpBinding & KubeObject
  if (groupId === undefined || incarnationsNamedBy(object)[groupId] !== undefined) return done()
  const group = groupOf(pass)
  if (group === undefined) return done()
  await assignIncarnation(pass, PrincipalGroup.resource, group)
  const incarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION]
  if (incarnation !== undefined) await writeIncarnations(pass, object, JSON.stringify({ [groupId]: incarnation }))
  return waiting('WaitingForDependency', 'The group was recorded.', REQUEUE_NOW)
}

async function reconcileMembers(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  if (groupId === undefined) return done()
  const group = groupOf(pass)
  if (group === undefined) {
    pass.report({ memberIds: [], changingIds: [], leftIds: [] })
    return stalled('ReferenceMissing', `There is no group ${groupId}.`)
  }
  return reconcileGrants(pass, boundUserIds(pass), {
    holders: new Set(group.spec.memberIds),
    isExclusive: false,
    readHolders: async () => {
      const found = await pass.records.client.get<Group>(PrincipalGroup.resource, refOf(group)).catch(absent)
      return new Set(found?.spec.memberIds)
    },
    setHolders: (userIds, ours) => setMembers(pass, group, userIds, ours),
  })
}

/**
 * Returns the group that the binding means, not one re-created or copied to another boundary with the same id. Until
 * the incarnation is recorded, it is the oldest: ids from REST are random, so a later group with the same id is a copy.
 */
function groupOf({ records, object }: BindingPass): Group | undefined {
  const { groupId = '' } = object.spec
  const recorded = incarnationsNamedBy(object as IdpBinding & KubeObject)[groupId]
  const groups = records.cache(PrincipalGroup).list({})
  return groups
    .filter(
      ({ metadata: { name, annotations } }) =>
        name === groupId && (recorded === undefined || annotations?.[INCARNATION_ANNOTATION] === recorded),
    )
    .sort(byAge)[0]
}

/** Sets which of our users are members, and leaves other members alone. */
async function setMembers(
  { records }: BindingPass,
  group: Group,
  userIds: readonly string[],
  ours: ReadonlySet<string>,
): Promise<void> {
  const others = group.spec.memberIds.filter((id) => userIds.includes(id) || !ours.has(id))
  const added = userIds.filter((id) => !others.includes(id))
  if (added.length === 0 && others.length === group.spec.memberIds.length) return
  // With the version, because the list is replaced as a whole and somebody else may be changing it.
  const { uid, resourceVersion } = group.metadata
  const patch = { spec: { memberIds: [...others, ...added] } }
  await records.client.mergePatch(PrincipalGroup.resource, refOf(group), patch, { uid, resourceVersion })
}

async function revokeAll(pass: BindingPass): Promise<Outcome> {
  await replaceAssignments(pass, assignmentsOf(pass), [])
  const group = groupOf(pass)
  if (group !== undefined) await setMembers(pass, group, [], usersGrantedBy(pass.object.status))
  return done()
}
