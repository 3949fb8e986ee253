import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import type { PlatformUser } from '../crds/identity.ts'
import { PlatformUser as UserKind } from '../crds/identity.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { IdpBinding } from '../crds/sso.ts'
import { BINDING_LABEL, boundAssignment } from '../desired/bindings.ts'
import { isBoundBy } from '../iam/bindings.ts'
import { isKubeError } from '../kube/errors.ts'
import { controller, type Pass, steps, type Workspace } from './engine/controller.ts'

type BindingPass = Pass<typeof IdpBinding>
type User = PlatformUser & KubeObject
type Group = KubeObject & { spec: { memberIds: readonly string[] } }

/**
 * Gives people what the bindings of their tenant say of them: a RoleAssignment each, or a place in a group. What the
 * issuer no longer says at a sign-in is taken away again, and all of it when the binding goes.
 */
export const bindingController = controller(IdpBinding, {
  observes: [{ resource: UserKind.resource, in: 'records', keysOf: bindingsOf }],
  reads: [
    { resource: RoleAssignment.resource, in: 'records' },
    { resource: PrincipalGroup.resource, in: 'records' },
  ],
  writes: [
    { resource: RoleAssignment.resource, verbs: ['create', 'delete'] },
    { resource: PrincipalGroup.resource, verbs: ['patch'] },
  ],
  reconcile: steps(settleAssignments, settleMembers),
  finalize: steps(takeEverything),
})

function bindingsOf(object: KubeObject, records: Workspace): string[] {
  const { externalIdentity } = (object as User).spec
  if (externalIdentity === undefined) return []
  const all = records.cache<IdpBinding & KubeObject>(IdpBinding.resource).list({ namespace: SYSTEM_NAMESPACE })
  return all.filter(({ spec }) => spec.tenantId === externalIdentity.tenantId).map(keyOf)
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
    try {
      await client.create(RoleAssignment.resource, assignment)
    } catch (error) {
      if (!isKubeError(error, 'AlreadyExists')) throw error
    }
  }
}

/** Who was put into the group is remembered, so that people whom somebody else put there stay. */
async function settleMembers(pass: BindingPass): Promise<Outcome> {
  const { groupId } = pass.object.spec
  if (groupId === undefined) return done()
  const isThere = await putMembers(pass, boundPeople(pass))
  return isThere ? done() : stalled('ReferenceMissing', `There is no group ${groupId}.`)
}

/** False where the group is gone. */
async function putMembers(pass: BindingPass, people: readonly string[]): Promise<boolean> {
  const { groupId } = pass.object.spec
  const before = pass.object.status?.memberIds ?? []
  const group = pass.records
    .cache<Group>(PrincipalGroup.resource)
    .list({})
    .find(({ metadata }) => metadata.name === groupId)
  if (group === undefined) {
    pass.report({ memberIds: [] })
    return false
  }
  const gone = before.filter((id) => !people.includes(id))
  const others = group.spec.memberIds.filter((id) => !gone.includes(id))
  const added = people.filter((id) => !others.includes(id))
  if (added.length > 0 || others.length !== group.spec.memberIds.length) {
    // With the version: a list is replaced as a whole, and somebody else may be changing it.
    const { uid, resourceVersion } = group.metadata
    const patch = { spec: { memberIds: [...others, ...added] } }
    await pass.records.client.mergePatch(PrincipalGroup.resource, refOf(group), patch, { uid, resourceVersion })
  }
  pass.report({ memberIds: people.filter((id) => before.includes(id) || added.includes(id)) })
  return true
}

async function takeEverything(pass: BindingPass): Promise<Outcome> {
  await replaceAssignments(pass, [])
  if (pass.object.spec.groupId !== undefined) await putMembers(pass, [])
  return done()
}
