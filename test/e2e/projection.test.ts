// @inTurn plain: keeps the API server from asking the facade.
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { platformAccess } from '../../scripts/platform.ts'
import { PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { roleBinding } from '../../src/kube/builtin.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { seenWorking, until } from '../make/until.ts'

describe('RoleBindings for role assignments', () => {
  const boundaryId = randomUUID()
  const home = boundaryNamespace(boundaryId)
  const space = groupNamespace(boundaryId, 'orders')
  const [boundary, group] = [`/boundaries/${boundaryId}`, `/boundaries/${boundaryId}/resourcegroups/orders`]
  let own: OwnPlatform

  before(async () => {
    own = await borrowPlatform('plain')
    const { oidc } = platformAccess(own.ports)
    await own.controlPlane.reconfigure({ oidc })
    await own.startOperator({ PLATFORM_PROJECT_RBAC: 'true' })
    await create(Boundary, boundaryId, undefined, { displayName: 'Projected' })
    await until('the boundary is ready', async () => isReady(Boundary, boundaryId))
    await create(ResourceGroup, 'orders', home, {})
    await until('the group is ready', async () => isReady(ResourceGroup, 'orders', home))
  })
  after(async () => {
    await own?.controlPlane.reconfigure(platformAccess(own.ports))
    await giveBack(own)
  })

  type Some =
    | typeof PlatformUser
    | typeof Boundary
    | typeof ResourceGroup
    | typeof RoleAssignment
    | typeof PrincipalGroup
    | typeof DenyAssignment

  const create = ({ resource, apiVersion, kind }: Some, name: string, namespace: string | undefined, spec: object) =>
    own.admin.create(resource, {
      apiVersion,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      spec,
    } as never)

  async function isReady({ resource }: Some, name: string, namespace?: string): Promise<boolean> {
    const { status } = (await own.admin.get(resource, { name, namespace })) as Boundary
    return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
  }

  async function assign(role: string, scope: string, more: object = {}, namespace = home) {
    const principalId = (more as { principalId?: string }).principalId ?? randomUUID()
    const name = randomUUID()
    const spec = { principalId, principalType: 'User', roleDefinitionName: role, scope, ...more }
    await create(RoleAssignment, name, namespace, spec)
    return { name, principalId }
  }

  /** Asked by the administrator about another, so that no token is needed. */
  async function may(principalId: string, verb: string, namespace: string, resource = 'vectorclusters') {
    const group = { vectorclusters: 'data.freehold.dev', resourcegroups: 'freehold.dev' }[resource] ?? ''
    const answer = await own.admin.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: `p:${principalId}`, resourceAttributes: { group, resource, verb, namespace } },
      }),
    })
    return (JSON.parse(await answer.text()) as { status: { allowed: boolean } }).status.allowed
  }

  it('grant a role in the namespace of the group only', async () => {
    const { principalId } = await assign('Reader', group)
    await until('the Reader may list', () => may(principalId, 'list', space))
    expect(await may(principalId, 'list', space, 'pods')).to.equal(true)
    expect(await may(principalId, 'create', space)).to.equal(false)
    expect(await may(principalId, 'get', space, 'secrets')).to.equal(false)
    expect(await may(principalId, 'list', home, 'resourcegroups')).to.equal(false)
    expect(await may(principalId, 'list', SYSTEM_NAMESPACE)).to.equal(false)
  })

  it('grant a role of the boundary to members of nested groups, in each namespace of the boundary', async () => {
    const [outer, inner, member] = [randomUUID(), randomUUID(), randomUUID()]
    await create(PrincipalGroup, inner, home, { displayName: 'Inner', memberIds: [member, outer] })
    await create(PrincipalGroup, outer, home, { displayName: 'Outer', memberIds: [inner] })
    await assign('Contributor', boundary, { principalId: outer, principalType: 'Group' })
    await until('the member may create', () => may(member, 'create', space))
    await until('the member may create groups', () => may(member, 'create', home, 'resourcegroups'))
    expect(await may(member, 'create', space, 'pods')).to.equal(false)
    await own.admin.mergePatch(
      PrincipalGroup.resource,
      { namespace: home, name: inner },
      { spec: { memberIds: [] } },
      {},
    )
    await until('the former member may not create', async () => !(await may(member, 'create', space)))
  })

  it('grant a role of the root in all namespaces until the assignment is deleted', async () => {
    const { name, principalId } = await assign('Platform Reader', '/', {}, SYSTEM_NAMESPACE)
    await until('the reader may list', () => may(principalId, 'list', space))
    await own.admin.remove(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE, name })
    await until('the reader may not', async () => !(await may(principalId, 'list', space)))
    const { items } = await own.admin.list(roleBinding, { namespace: space })
    expect(items.map(({ metadata }) => metadata.name)).not.to.include('freehold-project-platform-reader')
  })

  it('do not apply to a new person with the id of a deleted one', async () => {
    const { principalId, name } = await assign('Reader', group, { principalId: randomUUID() })
    const person = { namespace: SYSTEM_NAMESPACE, name: principalId }
    await create(PlatformUser, principalId, SYSTEM_NAMESPACE, { userName: principalId })
    const assignment = () => own.admin.get(RoleAssignment.resource, { namespace: home, name })
    await own.admin.mergePatch(
      RoleAssignment.resource,
      { namespace: home, name },
      { metadata: { labels: { seen: 'x' } } },
      {},
    )
    await until('the assignment has the incarnation of the person', async () =>
      JSON.stringify((await assignment()).metadata.annotations).includes(`${PRINCIPAL_INCARNATIONS_ANNOTATION}":"{`),
    )
    await until('the person may list', () => may(principalId, 'list', space))
    await own.admin.remove(PlatformUser.resource, person)
    await until('the person is deleted', async () =>
      (await own.admin.list(PlatformUser.resource)).items.every(({ metadata }) => metadata.name !== principalId),
    )
    await create(PlatformUser, principalId, SYSTEM_NAMESPACE, { userName: principalId })
    await until('the new person may not list', async () => !(await may(principalId, 'list', space)))
  })

  it('end at expiresAt', async () => {
    const { principalId } = await seenWorking(
      (expiresAt) => assign('Deployer', group, { expiresAt }),
      (given) => may(given.principalId, 'list', space),
    )
    await until('the role has ended', async () => !(await may(principalId, 'list', space)))
  })

  it('ignore scopes of single resources, other incarnations and wrong namespaces', async () => {
    const left = [
      await assign('Owner', `${group}/resources/vectorclusters/mine`),
      await assign('Owner', group, { scopeIncarnation: 'another' }),
      await assign('Owner', boundary, {}, SYSTEM_NAMESPACE).catch(() => ({ principalId: randomUUID() })),
    ]
    const { principalId } = await assign('Owner', group)
    await until('the last assignment is effective', () => may(principalId, 'delete', space))
    for (const { principalId: one } of left) expect(await may(one, 'get', space)).to.equal(false)
  })

  it('are not written without a change', async () => {
    const versions = async () =>
      (await own.admin.list(roleBinding, { namespace: space })).items.map(({ metadata }) => metadata.resourceVersion)
    const before = await versions()
    const { principalId } = await assign('Reader', group, { roleDefinitionName: 'Alert Publisher' })
    await assign('Secrets Reader', group, { principalId })
    const { principalId: last } = await assign('Platform Owner', group)
    await until('the last assignment is effective', () => may(last, 'list', space))
    const after = await versions()
    expect(after.filter((version) => before.includes(version))).to.deep.equal(before)
  })

  it('let an Owner assign roles with kubectl within the rules and denies of REST', async () => {
    const team = randomUUID()
    await create(PrincipalGroup, team, home, { displayName: 'Given', memberIds: [] })
    const give = async (principalId: string, roleDefinitionName: string) => {
      const { resource, apiVersion, kind } = RoleAssignment
      const spec = { principalId: team, principalType: 'Group', roleDefinitionName, scope: boundary }
      const answer = await own.admin.request({
        method: 'POST',
        path: `/apis/${resource.group}/${resource.version}/namespaces/${home}/${resource.plural}?dryRun=All`,
        headers: { 'content-type': 'application/json', 'impersonate-user': `p:${principalId}` },
        body: JSON.stringify({ apiVersion, kind, metadata: { name: randomUUID(), namespace: home }, spec }),
      })
      const { message = 'given' } = JSON.parse(await answer.text()) as { message?: string }
      return message
    }
    const owner = (await assign('Owner', boundary)).principalId
    await until('the Owner gives', async () => (await give(owner, 'Reader')) === 'given')
    expect(await give(owner, 'Platform Reader')).to.include('The role "Platform Reader"')
    const lesser = (await assign('Platform Owner', boundary)).principalId
    await until('the lesser role gives', async () => (await give(lesser, 'Reader')) === 'given')
    expect(await give(lesser, 'Owner')).to.include('has actions that you do not have')
    const deny = { principalId: owner, principalType: 'User', actions: ['boundaries/members/manage'], scope: boundary }
    await create(DenyAssignment, randomUUID(), home, deny)
    expect(await give(owner, 'Reader')).to.include('The permission boundaries/members/manage is missing')
    const contributor = (await assign('Contributor', boundary)).principalId
    await until('the binding is there', async () => may(contributor, 'list', home, 'resourcegroups'))
    expect(await give(contributor, 'Reader')).to.include('forbidden')
  })

  it('are deleted when projection is switched off', async () => {
    const { principalId } = await assign('Reader', boundary)
    await until('the Reader may list', () => may(principalId, 'list', home, 'resourcegroups'))
    await own.endOperator('SIGTERM')
    await own.startOperator({ PLATFORM_PROJECT_RBAC: 'false' })
    await until('no binding is left', async () => {
      const { items } = await own.admin.list(roleBinding)
      return !items.some(({ metadata }) => metadata.name.startsWith('freehold-project-'))
    })
    // The API server sees the removal a moment later.
    await until('the Reader may not list', async () => !(await may(principalId, 'list', home, 'resourcegroups')))
    expect((await own.admin.list(roleBinding, { namespace: space })).items).to.have.length(2)
  })
})
