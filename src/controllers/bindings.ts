import { BINDING_LABEL } from '../contracts/sso.ts'
import { createdByOf, INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { byAge, type KubeObject, keyOf, type Resource, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { parseScope } from '../core/scope.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { PlatformUser } from '../crds/identity.ts'
import { PlatformUser as UserKind } from '../crds/identity.ts'
import { incarnationsNamedBy } from '../crds/principals.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { scopeIncarnationOf } from '../crds/scopeObjects.ts'
import { IdpBinding } from '../crds/sso.ts'
import { boundAssignment } from '../desired/bindings.ts'
import { isBoundBy } from '../iam/bindings.ts'
import { absent, alreadyThere } from '../kube/errors.ts'
import { type BindingPass, oursOf, settleShare } from './bindingShares.ts'
import { controller, type Observed, steps, type Workspace } from './engine/controller.ts'
import { BOUND_INDEX } from './engine/principalIndex.ts'
import { objectAt, writeLife } from './lifeOfGrant.ts'
import { followTenant, tenantOfKind } from './ofTenants.ts'
import { giveIncarnation, writeIncarnations } from './principals.ts'

type User = PlatformUser & KubeObject
type Group = KubeObject & { spec: { memberIds: readonly string[] } }

const tenantOf = ({ spec }: KubeObject) => (spec as IdpBinding['spec']).tenantId

/** Boundaries or groups, as they come and go, and as they are made anew. */
function places(resource: Resource, isOf: (boundaryId: string, place: KubeObject['metadata']) => boolean): Observed {
  return {
    resource,
    keysOf: ({ metadata }, records) => bindingsWhere(records, (one) => isOf(boundaryOf(one) ?? '', metadata)),
    relevant: ({ metadata }) => [metadata.deletionTimestamp, metadata.annotations?.[INCARNATION_ANNOTATION]],
  }
}

/**
 * Gives people what the bindings of their tenant say of them: a RoleAssignment each, or a place in a group. What the
 * issuer no longer says at a sign-in is taken away again, and all of it when the binding goes. What somebody took from
 * one of them by hand stays away until the issuer has stopped saying it of them.
 */
export const bindingController = controller(IdpBinding, {
  observes: [
    // Not for each note of a sign-in: every binding of the tenant looks at everybody.
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
    tenantOfKind(IdpBinding, tenantOf),
    // As it comes and goes: its members are looked at when people change.
    {
      resource: PrincipalGroup.resource,
      in: 'records',
      keysOf: ({ metadata }, records) => bindingsWhere(records, ({ spec }) => spec.groupId === metadata.name),
      relevant: ({ metadata }) => metadata.uid,
    },
    places(Boundary.resource, (boundaryId, { name }) => name === boundaryId),
    places(ResourceGroup.resource, (boundaryId, { namespace }) => namespace === boundaryNamespace(boundaryId)),
  ],
  reads: [{ resource: RoleAssignment.resource, in: 'records' }],
  writes: [
    { resource: RoleAssignment.resource, verbs: ['create', 'delete'] },
    { resource: PrincipalGroup.resource, verbs: ['patch'] },
  ],
  reconcile: steps(followTenant(tenantOf), keepToScope, settleAssignments, keepToGroup, settleMembers),
  finalize: steps(takeEverything),
})

/** Those of the person's tenant, and those that gave the person something, perhaps as one of another tenant. */
function bindingsOf(object: KubeObject, records: Workspace): string[] {
  const { metadata, spec } = object as User
  const given = records
    .cache(RoleAssignment)
    .byIndex(BOUND_INDEX, metadata.name)
    .map((one) => one.metadata.labels?.[BINDING_LABEL] ?? '')
  return bindingsWhere(
    records,
    (one) =>
      one.spec.tenantId === spec.externalIdentity?.tenantId ||
      given.includes(one.metadata.name) ||
      oursOf(one.status).has(metadata.name),
  )
}

function bindingsWhere(records: Workspace, concerns: (binding: IdpBinding) => boolean): string[] {
  const all = records.cache(IdpBinding).list({ namespace: SYSTEM_NAMESPACE })
  return all.filter(concerns).map(keyOf)
}

/** The boundary in which a binding gives a role. */
function boundaryOf({ spec }: Pick<IdpBinding, 'spec'>): string | undefined {
  const place = parseScope(spec.scope ?? '/')
  return place === undefined || place.level === 'root' ? undefined : place.boundaryId
}

/** Not whoever made the binding: nobody gives themselves what they may give to others. */
function boundPeople({ records, object }: BindingPass): string[] {
  const maker = createdByOf(object.metadata)
  return records
    .cache(UserKind)
    .list({ namespace: SYSTEM_NAMESPACE })
    .filter(
      ({ metadata, spec }) =>
        metadata.deletionTimestamp === undefined &&
        metadata.name !== maker &&
        isBoundBy(spec.externalIdentity, object.spec),
    )
    .map(({ metadata }) => metadata.name)
    .sort()
}

type Assignment = RoleAssignment & KubeObject
const holderOf = ({ spec }: Assignment) => spec.principalId

async function settleAssignments(pass: BindingPass): Promise<Outcome> {
  const { metadata, spec } = pass.object
  if (spec.groupId !== undefined) return done()
  if (isWithoutBoundary(pass) || isOfAnotherLife(pass))
    return stalled('ReferenceMissing', `What was at ${spec.scope} no longer exists.`)
  const present = assignmentsOf(pass)
  const labelSelector = `${BINDING_LABEL}=${metadata.name}`
  return settleShare(pass, boundPeople(pass), {
    has: new Set(present.map(holderOf)),
    isAllOurs: true,
    hasNow: async () => {
      const { items } = await pass.records.client.list<Assignment>(RoleAssignment.resource, { labelSelector })
      return new Set(items.map(holderOf))
    },
    give: (people) => replaceAssignments(pass, present, people),
  })
}

/** Its namespace went with it, and takes nothing any more. */
function isWithoutBoundary({ records, object }: BindingPass): boolean {
  const boundaryId = boundaryOf(object)
  if (boundaryId === undefined) return false
  const boundary = records.cache(Boundary).get(undefined, boundaryId)
  return boundary === undefined || boundary.metadata.deletionTimestamp !== undefined
}

/** Which life the object at the scope is in, if it is known here. */
function lifeAtScope({ records, object }: BindingPass): string | undefined {
  const scope = parseScope(object.spec.scope ?? '/')
  return scope && objectAt(scope, records)?.metadata.annotations?.[INCARNATION_ANNOTATION]
}

function isOfAnotherLife(pass: BindingPass): boolean {
  const [meant, present] = [scopeIncarnationOf(pass.object), lifeAtScope(pass)]
  return meant !== undefined && present !== undefined && meant !== present
}

/** Writes down which life of the scope is meant, where kubectl or Git did not say so: the one that is there first. */
async function keepToScope(pass: BindingPass): Promise<Outcome> {
  const incarnation = lifeAtScope(pass)
  if (incarnation === undefined || scopeIncarnationOf(pass.object) !== undefined) return done()
  return writeLife(pass, incarnation)
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
  people: readonly string[],
): Promise<void> {
  const { client } = records
  const wanted = people.flatMap((id) => boundAssignment(object, id) ?? [])
  const kept = new Set(wanted.map(keyOf))
  for (const assignment of present.filter((one) => !kept.has(keyOf(one)))) {
    await client.remove(RoleAssignment.resource, refOf(assignment), { uid: assignment.metadata.uid })
  }
  const there = new Set(present.map(keyOf))
  for (const assignment of wanted.filter((one) => !there.has(keyOf(one)))) {
    await client.create(RoleAssignment.resource, assignment).catch(alreadyThere)
  }
}

/** Milliseconds until what was written down is done. */
const AT_ONCE = 1

/** Writes down which group is meant: the one that has the id when the binding is first looked at. */
async function keepToGroup(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  const object = pass.object as IdpBinding & KubeObject
  if (groupId === undefined || incarnationsNamedBy(object)[groupId] !== undefined) return done()
  const group = groupOf(pass)
  if (group === undefined) return done()
  await giveIncarnation(pass, PrincipalGroup.resource, group)
  const incarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION]
  if (incarnation !== undefined) await writeIncarnations(pass, object, JSON.stringify({ [groupId]: incarnation }))
  return waiting('WaitingForDependency', 'The group was recorded.', AT_ONCE)
}

async function settleMembers(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  if (groupId === undefined) return done()
  const group = groupOf(pass)
  if (group === undefined) {
    pass.report({ memberIds: [], changingIds: [], leftIds: [] })
    return stalled('ReferenceMissing', `There is no group ${groupId}.`)
  }
  return settleShare(pass, boundPeople(pass), {
    has: new Set(group.spec.memberIds),
    isAllOurs: false,
    hasNow: async () => {
      const found = await pass.records.client.get<Group>(PrincipalGroup.resource, refOf(group)).catch(absent)
      return new Set(found?.spec.memberIds)
    },
    give: (people, ours) => putMembers(pass, group, people, ours),
  })
}

/**
 * Not one that was made anew, nor one that somebody made under the same id in another boundary: until it is recorded which
 * is meant, the oldest. Ids that REST gives are random, so a later one was copied from it.
 */
function groupOf({ records, object }: BindingPass): Group | undefined {
  const { groupId = '' } = object.spec
  const meant = incarnationsNamedBy(object as IdpBinding & KubeObject)[groupId]
  const groups = records.cache(PrincipalGroup).list({})
  return groups
    .filter(
      ({ metadata: { name, annotations } }) =>
        name === groupId && (meant === undefined || annotations?.[INCARNATION_ANNOTATION] === meant),
    )
    .sort(byAge)[0]
}

/** Of the people that are ours, only these stay in the group. */
async function putMembers(
  { records }: BindingPass,
  group: Group,
  people: readonly string[],
  ours: ReadonlySet<string>,
): Promise<void> {
  const others = group.spec.memberIds.filter((id) => people.includes(id) || !ours.has(id))
  const added = people.filter((id) => !others.includes(id))
  if (added.length === 0 && others.length === group.spec.memberIds.length) return
  // With the version: a list is replaced as a whole, and somebody else may be changing it.
  const { uid, resourceVersion } = group.metadata
  const patch = { spec: { memberIds: [...others, ...added] } }
  await records.client.mergePatch(PrincipalGroup.resource, refOf(group), patch, { uid, resourceVersion })
}

async function takeEverything(pass: BindingPass): Promise<Outcome> {
  await replaceAssignments(pass, assignmentsOf(pass), [])
  const group = groupOf(pass)
  if (group !== undefined) await putMembers(pass, group, [], oursOf(pass.object.status))
  return done()
}
