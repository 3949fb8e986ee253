import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { DenyAssignment, JitRequest, RoleAssignment } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'

const WHOLE = `/boundaries/${BOUNDARY}`
const GROUP = `${WHOLE}/resourcegroups/shop`
const OUTER = boundaryNamespace(BOUNDARY)

/** REST checks the permission at the scope of the assignment, like kubectl. */
describe('a deny of rbac/members/write at a group', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  let restrictedOwner: string
  beforeEach(async () => {
    shop = await startShop()
    restrictedOwner = randomUUID()
    shop.grant(restrictedOwner, 'Owner', WHOLE)
    shop.put(PlatformUser, OWNER, { userName: 'owner' }, SYSTEM_NAMESPACE)
    const deny = { principalId: restrictedOwner, principalType: 'User', scope: GROUP, scopeIncarnation: 'life' }
    shop.put(DenyAssignment, randomUUID(), { ...deny, actions: ['rbac/members/write'] }, OUTER)
  })
  afterEach(() => shop.stop())

  it('forbids assignments at the group only', async () => {
    const assign = async (scope: string, as = restrictedOwner) => {
      const body = { principalId: OWNER, roleDefinitionName: 'Reader', scope }
      return (await shop.ask('post', `${WHOLE}/providers/authorization/roleAssignments`, as).send(body)).status
    }
    expect(await assign(GROUP)).to.equal(403)
    const { items } = await shop.client.list(RoleAssignment.resource)
    expect(items.filter(({ spec }) => (spec as { scope: string }).scope === GROUP)).to.deep.equal([])
    expect([await assign(WHOLE), await assign(GROUP, OWNER)]).to.deep.equal([201, 201])
  })

  it('forbids the approval of a JitRequest for the group', async () => {
    const group = await shop.client.get(ResourceGroup.resource, { namespace: OUTER, name: 'shop' })
    const scopeIncarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    const decide = async (scope: string, as = restrictedOwner) => {
      const [id, principalId] = [randomUUID(), randomUUID()]
      shop.put(PlatformUser, principalId, { userName: 'asks' }, SYSTEM_NAMESPACE)
      const role = { roleDefinitionName: 'Reader', scope, scopeIncarnation, justification: 'work' }
      shop.put(JitRequest, id, { principalId, principalType: 'User', ...role }, OUTER)
      const path = `${WHOLE}/providers/authorization/jitRequests/${id}/approve`
      return (await shop.ask('post', path, as).send({})).status
    }
    expect(await decide(GROUP)).to.equal(403)
    expect(await decide(GROUP, OWNER)).to.equal(200)
  })
})
