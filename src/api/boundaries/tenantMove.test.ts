import { expect } from 'chai'
import { ANNA, assign, B1, BERT, TEAM } from '../../../test/make/authorizationRecords.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { BoundaryTrust, DenyAssignment, PlatformTenant, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { IdpBinding } from '../../crds/sso.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { tenantRoutes } from './tenant.ts'
import { tenantMoveRoutes } from './tenantMove.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const namespace = boundaryNamespace(BOUNDARY)
const TENANT = '55555555-5555-4555-8555-555555555555'
const ROBOT = '66666666-6666-4666-8666-666666666666'

/** ANNA belongs to the tenant, BERT does not, ROBOT is a service account. */
function open(
  given: Record<string, [principalId: string, principalType: string, role: string]>,
  members: string[] = [],
) {
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', '/')] })
  const { records } = facade
  facade.boundary(BOUNDARY)
  records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
  records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: ANNA }, { userName: 'anna', tenantIds: [TENANT] })
  records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: BERT }, { userName: 'bert' })
  records.put(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: ROBOT }, { displayName: 'robot', secretName: 'x' })
  records.put(PrincipalGroup, { namespace, name: TEAM }, { displayName: 'Team', memberIds: members })
  for (const [name, [principalId, principalType, roleDefinitionName]] of Object.entries(given))
    records.put(RoleAssignment, { namespace, name }, { principalId, principalType, roleDefinitionName, scope: B1 })
  const body = { tenantId: TENANT }
  const moves = {
    last_owner: () => facade.call(tenantMoveRoutes, 'POST', `${B1}/providers/authorization/tenant-move`, { body }),
    LAST_OWNER: () => facade.call(tenantRoutes, 'POST', `${B1}/tenant`, { body }),
  }
  const left = () => records.peekAll(RoleAssignment).map(({ metadata }) => metadata.name)
  return { ...facade, doors: moves, left }
}

describe('move of a boundary to another tenant', () => {
  for (const code of ['last_owner', 'LAST_OWNER'] as const) {
    describe(`through the route that returns ${code}`, () => {
      const refused: [string, Parameters<typeof open>][] = [
        ['the only Owner is outside the tenant', [{ owner: [BERT, 'User', 'Owner'], anna: [ANNA, 'User', 'Reader'] }]],
        ['all members of the group that is Owner are outside the tenant', [{ team: [TEAM, 'Group', 'Owner'] }, [BERT]]],
      ]
      for (const [title, given] of refused) {
        it(`rejects the move and keeps all members if ${title}`, async () => {
          const { doors, left, records } = open(...given)
          const before = left()
          expect((await codeOf(doors[code]())).code).to.equal(code)
          expect(left()).to.deep.equal(before)
          expect(records.peekAll(PrincipalGroup)[0]?.spec.memberIds).to.deep.equal(given[1] ?? [])
        })
      }

      it('rejects the move if the only Owner inside the tenant has a deny assignment', async () => {
        const { doors, left, records } = open({ owner: [BERT, 'User', 'Owner'], anna: [ANNA, 'User', 'Owner'] })
        const before = left()
        records.put(DenyAssignment, { namespace, name: 'd' }, { principalId: ANNA, actions: ['jobs/read'], scope: B1 })
        const moving = () => doors[code]()
        expect((await codeOf(moving())).code).to.equal(code)
        expect(left()).to.deep.equal(before)
        await records.remove(DenyAssignment, { namespace, name: 'd' }, {} as never)
        await moving()
        expect(left()).to.have.members(['anna'])
      })

      it('rejects the move if the tenant is removed meanwhile', async () => {
        const { doors, records } = open({ owner: [ANNA, 'User', 'Owner'], bert: [BERT, 'User', 'Reader'] })
        const remove = records.remove.bind(records)
        records.remove = (async (kind, ref, options) => {
          records.remove = remove
          await remove(PlatformTenant, { name: TENANT }, options)
          return remove(kind, ref, options)
        }) as typeof records.remove
        const answer = await codeOf(doors[code]())
        expect(answer.code).to.equal(code === 'last_owner' ? 'tenant_not_found' : 'TENANT_NOT_FOUND')
        expect(records.peek(Boundary, { name: BOUNDARY })?.spec.tenantId).to.not.equal(TENANT)
      })

      it('removes people outside the tenant from assignments and groups', async () => {
        const { doors, left, records } = open(
          {
            owner: [ANNA, 'User', 'Owner'],
            bert: [BERT, 'User', 'Reader'],
            robot: [ROBOT, 'ServicePrincipal', 'Reader'],
            team: [TEAM, 'Group', 'Contributor'],
          },
          [ANNA, BERT, ROBOT],
        )
        await doors[code]()
        expect(left()).to.have.members(['owner', 'robot', 'team'])
        expect(records.peekAll(PrincipalGroup)[0]?.spec.memberIds).to.deep.equal([ANNA, ROBOT])
      })

      it('deletes bindings of other tenants that grant access to the boundary', async () => {
        const { doors, records } = open({ owner: [ANNA, 'User', 'Owner'] })
        const other = '99999999-9999-4999-8999-999999999999'
        const bind = (name: string, tenantId: string, target: object) =>
          records.put(
            IdpBinding,
            { namespace: SYSTEM_NAMESPACE, name },
            { tenantId, issuer: 'https://login.acme.example', claimValue: 'staff', ...target },
          )
        bind('role', other, { roleDefinitionName: 'Reader', scope: B1 })
        bind('deep', other, { roleDefinitionName: 'Reader', scope: `${B1}/resourcegroups/shop` })
        bind('group', other, { groupId: TEAM })
        bind('elsewhere', other, { roleDefinitionName: 'Reader', scope: `/boundaries/${other}` })
        bind('root', other, { roleDefinitionName: 'Platform Reader', scope: '/' })
        bind('own', TENANT, { roleDefinitionName: 'Reader', scope: B1 })
        await doors[code]()
        const left = records.peekAll(IdpBinding).map(({ metadata }) => metadata.name)
        expect(left).to.have.members(['elsewhere', 'root', 'own'])
      })

      it('deletes open invitations and keeps closed ones', async () => {
        const { doors, records } = open({ owner: [ANNA, 'User', 'Owner'] })
        const spec = {
          ...{ email: 'carl@example.com', roleDefinitionName: 'Reader', scope: B1, invitedBy: ANNA, hasAccount: true },
          ...{
            expiresAt: '2099-01-01T00:00:00Z',
            tokenHash: 'a'.repeat(64),
            tenantId: '99999999-9999-4999-8999-999999999999',
          },
        }
        for (const state of ['Pending', 'AwaitingLogin', 'Accepted', 'Revoked'])
          records.put(MemberInvitation, { namespace, name: state.toLowerCase() }, { ...spec, state })
        await doors[code]()
        const left = records.peekAll(MemberInvitation).map(({ metadata }) => metadata.name)
        expect(left).to.have.members(['accepted', 'revoked'])
      })

      it('keeps people with a role in a trusted boundary, of their own or through a group', async () => {
        const carl = '77777777-7777-4777-8777-777777777777'
        const [trusted, crew] = ['99999999-9999-4999-8999-999999999999', '88888888-8888-4888-8888-888888888888']
        const { doors, left, records, boundary } = open({
          owner: [ANNA, 'User', 'Owner'],
          bert: [BERT, 'User', 'Reader'],
          carl: [carl, 'User', 'Reader'],
        })
        boundary(trusted)
        const home = boundaryNamespace(trusted)
        records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: carl }, { userName: 'carl' })
        records.put(
          BoundaryTrust,
          { namespace: SYSTEM_NAMESPACE, name: trusted },
          { boundaryId: BOUNDARY, trustedBoundaryId: trusted, bidirectional: false, actions: ['boundaries/read'] },
        )
        records.put(PrincipalGroup, { namespace: home, name: crew }, { displayName: 'Crew', memberIds: [BERT] })
        const scope = `/boundaries/${trusted}`
        for (const [name, principalId, principalType] of [
          ['one', crew, 'Group'],
          ['two', carl, 'User'],
        ] as const)
          records.put(
            RoleAssignment,
            { namespace: home, name },
            { principalId, principalType, roleDefinitionName: 'Reader', scope },
          )
        await doors[code]()
        expect(left()).to.have.members(['owner', 'bert', 'carl', 'one', 'two'])
      })

      it('removes platform groups with a member outside the tenant and keeps the others', async () => {
        const [mixed, pure] = ['77777777-7777-4777-8777-777777777777', '88888888-8888-4888-8888-888888888888']
        const { doors, left, records } = open(
          {
            owner: [ANNA, 'User', 'Owner'],
            mixed: [mixed, 'Group', 'Reader'],
            pure: [pure, 'Group', 'Reader'],
            team: [TEAM, 'Group', 'Contributor'],
          },
          [ANNA, mixed, pure],
        )
        const group = (name: string, memberIds: string[]) =>
          records.put(
            PrincipalGroup,
            { namespace: SYSTEM_NAMESPACE, name },
            { displayName: name.slice(0, 4), memberIds },
          )
        group(mixed, [ANNA, BERT])
        group(pure, [ANNA, ROBOT])
        await doors[code]()
        expect(left()).to.have.members(['owner', 'pure', 'team'])
        const own = records.peekAll(PrincipalGroup, { namespace }).map(({ spec }) => spec.memberIds)
        expect(own).to.deep.equal([[ANNA, pure]])
      })
    })
  }
})
