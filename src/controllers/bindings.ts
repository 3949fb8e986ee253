import { BINDING_LABEL } from '../contracts/sso.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { byAge, type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import type { PlatformUser } from '../crds/identity.ts'
import { PlatformUser as UserKind } from '../crds/identity.ts'
import { incarnationsNamedBy } from '../crds/principals.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { IdpBinding } from '../crds/sso.ts'
import { boundAssignment } from '../desired/bindings.ts'
import { isBoundBy } from '../iam/bindings.ts'
import { alreadyThere } from '../kube/errors.ts'
import { controller, type Pass, steps, type Workspace } from './engine/controller.ts'
import { BOUND_INDEX } from './engine/principalIndex.ts'
import { followTenant, tenantOfKind } from './ofTenants.ts'
import { giveIncarnation, writeIncarnations } from './principals.ts'

type BindingPass = Pass<typeof IdpBinding>
type User = PlatformUser & KubeObject
type Group = KubeObject & { spec: { memberIds: readonly string[] } }

const tenantOf = ({ spec }: KubeObject) => (spec as IdpBinding['spec']).tenantId

/**
 * Gives people what the bindings of their tenant say of them: a RoleAssignment each, or a place in a group. What the
 * issuer no longer says at a sign-in is taken away again, and all of it when the binding goes.
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
      keysOf: bindingsTo,
      relevant: ({ metadata }) => metadata.uid,
    },
  ],
  reads: [{ resource: RoleAssignment.resource, in: 'records' }],
  writes: [
    { resource: RoleAssignment.resource, verbs: ['create', 'delete'] },
    { resource: PrincipalGroup.resource, verbs: ['patch'] },
  ],
  reconcile: steps(followTenant(tenantOf), settleAssignments, keepToGroup, settleMembers),
  finalize: steps(takeEverything),
})

/** Those of the person's tenant, and those that gave the person something, perhaps as one of another tenant. */
function bindingsOf(object: KubeObject, records: Workspace): string[] {
  const { metadata, spec } = object as User
  const given = records
    .cache(RoleAssignment.resource)
    .byIndex(BOUND_INDEX, metadata.name)
    .map((one) => one.metadata.labels?.[BINDING_LABEL] ?? '')
  const all = records.cache<IdpBinding & KubeObject>(IdpBinding.resource).list({ namespace: SYSTEM_NAMESPACE })
  const concerns = (one: IdpBinding & KubeObject) =>
    one.spec.tenantId === spec.externalIdentity?.tenantId ||
    given.includes(one.metadata.name) ||
    one.status?.memberIds?.includes(metadata.name) === true
  return all.filter(concerns).map(keyOf)
}

function bindingsTo({ metadata }: KubeObject, records: Workspace): string[] {
  const all = records.cache<IdpBinding & KubeObject>(IdpBinding.resource).list({ namespace: SYSTEM_NAMESPACE })
  return all.filter(({ spec }) => spec.groupId === metadata.name).map(keyOf)
}

function boundPeople({ records, object }: BindingPass): string[] {
  return records
    .cache<User>(UserKind.resource)
    .list({ namespace: SYSTEM_NAMESPACE })
    .filter(
      ({ metadata, spec }) => metadata.deletionTimestamp === undefined && isBoundBy(spec.externalIdentity, object.spec),
    )
    .map(({ metadata }) => metadata.name)
}

async function settleAssignments(pass: BindingPass): Promise<Outcome> {
  const wanted = boundPeople(pass).flatMap((id) => boundAssignment(pass.object, id) ?? [])
  await replaceAssignments(pass, wanted)
  return done()
}

async function replaceAssignments(pass: BindingPass, wanted: readonly KubeObject[]): Promise<void> {
  const { client } = pass.records
  const present = pass.records
    .cache(RoleAssignment.resource)
    .list({})
    .filter(({ metadata }) => metadata.labels?.[BINDING_LABEL] === pass.object.metadata.name)
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

/**
 * Who is put into the group is remembered, so that people whom somebody else put there stay. The status is written
 * before the group: of people who were put there by a process that died before it said so, nobody could tell whose
 * they are, and they would stay for ever.
 */
async function settleMembers(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  if (groupId === undefined) return done()
  const group = groupOf(pass)
  if (group === undefined) {
    pass.report({ memberIds: [] })
    return stalled('ReferenceMissing', `There is no group ${groupId}.`)
  }
  const ours = pass.object.status?.memberIds ?? []
  const wanted = boundPeople(pass).filter((id) => ours.includes(id) || !group.spec.memberIds.includes(id))
  if (wanted.every((id) => ours.includes(id))) {
    await putMembers(pass, group, wanted)
    return done()
  }
  pass.report({ memberIds: [...new Set([...ours, ...wanted])] })
  return waiting('ApplyingWorkload', 'People are being added to the group.', AT_ONCE)
}

/**
 * Not one that was made anew, nor one that somebody made under the same id in another boundary: until it is recorded which
 * is meant, the oldest. Ids that REST gives are random, so a later one was copied from it.
 */
function groupOf({ records, object }: BindingPass): Group | undefined {
  const { groupId = '' } = object.spec
  const meant = incarnationsNamedBy(object as IdpBinding & KubeObject)[groupId]
  const groups = records.cache<Group>(PrincipalGroup.resource).list({})
  return groups
    .filter(
      ({ metadata: { name, annotations } }) =>
        name === groupId && (meant === undefined || annotations?.[INCARNATION_ANNOTATION] === meant),
    )
    .sort(byAge)[0]
}

/** Of the people that are ours, only these stay in the group. */
async function putMembers(pass: BindingPass, group: Group, people: readonly string[]): Promise<void> {
  const gone = (pass.object.status?.memberIds ?? []).filter((id) => !people.includes(id))
  const others = group.spec.memberIds.filter((id) => !gone.includes(id))
  const added = people.filter((id) => !others.includes(id))
  if (added.length > 0 || others.length !== group.spec.memberIds.length) {
    // With the version: a list is replaced as a whole, and somebody else may be changing it.
    const { uid, resourceVersion } = group.metadata
    const patch = { spec: { memberIds: [...others, ...added] } }
    await pass.records.client.mergePatch(PrincipalGroup.resource, refOf(group), patch, { uid, resourceVersion })
  }
  pass.report({ memberIds: [...people] })
}

async function takeEverything(pass: BindingPass): Promise<Outcome> {
  await replaceAssignments(pass, [])
  const group = groupOf(pass)
  if (group !== undefined) await putMembers(pass, group, [])
  return done()
}
